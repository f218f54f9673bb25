package far;

/** A library that calls the program back. */
public final class Engine {
    /** What the program does. */
    public interface Task {
        int work(int n);
    }

    private Engine() {
    }

    public static int run(Task task) {
        return inner(task, 3);
    }

    private static int inner(Task task, int n) {
        return task.work(Integer.signum(n));
    }
}
