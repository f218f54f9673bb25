package started;

/** Starts threads with an object of a class, a method reference and a lambda. */
public final class Referenced implements Runnable {
    public static void main(String[] args) throws Exception {
        Referenced one = new Referenced();
        for (Thread thread : new Thread[] {new Thread(one), new Thread(one::work), new Thread(() -> step(3))}) {
            thread.start();
            thread.join();
        }
    }

    @Override
    public void run() {
        step(1);
    }

    private void work() {
        step(2);
    }

    private static void step(int number) {
        System.out.println(number);
    }
}
