package started;

/** A program with a known number of calls, which ends by itself: with an exit code where one is given. */
public final class Started {
    static long sum;

    private Started() {
    }

    static void work(int n) {
        for (int i = 0; i < 3; i++) {
            sum += Later.step(n + i);
        }
    }

    /** Not loaded before it is used. */
    static final class Later {
        static long step(int n) {
            long x = n;
            for (int i = 0; i < 1000; i++) {
                x = x * 31 + i;
            }
            return x;
        }
    }

    public static void main(String[] args) {
        System.out.println("begin");
        for (int n = 0; n < 100; n++) {
            work(n);
        }
        System.out.println("end");
        if (args.length > 0) {
            System.exit(Integer.parseInt(args[0]));
        }
    }
}
