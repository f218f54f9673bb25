/** The program ends by System.exit inside try/finally; its exit code is 7, and hooks run but no finally block. */
public final class ExitCodes {
    public static void main(String[] args) {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook " + inHook(3))));
        try {
            leave(2);
        } finally {
            System.out.println("never printed");
        }
    }

    static int inHook(int n) {
        return n * n;
    }

    static int leave(int depth) {
        try {
            if (depth == 0) {
                System.out.println("leaving");
                System.exit(7);
            }
            return leave(depth - 1);
        } finally {
            System.out.println("nor this");
        }
    }
}
