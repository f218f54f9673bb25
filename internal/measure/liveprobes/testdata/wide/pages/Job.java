package pages;

import far.Engine;

/** Is called back by a library. */
public class Job implements Engine.Task {
    @Override
    public int work(int n) {
        return Integer.signum(n + 1);
    }

    public static int submit(Job job) {
        return Engine.run(job);
    }
}
