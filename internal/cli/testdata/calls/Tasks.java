package calls;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.scheduling.support.ScheduledMethodRunnable;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;

/** Executors with tasks, and a controller. A line "work N" does everything N times, one after the other. */
public final class Tasks {
    private static final Semaphore RUN = new Semaphore(0);

    private Tasks() {
    }

    /** A task that runs another one itself. */
    private static final class Job implements Runnable {
        @Override
        public void run() {
            new Inner().run();
            RUN.release();
        }
    }

    private static final class Inner implements Runnable {
        private int runs;

        @Override
        public void run() {
            runs++;
        }
    }

    private static final class Ask implements Callable<Integer> {
        @Override
        public Integer call() {
            return 1;
        }
    }

    private static final class Failing implements Runnable {
        @Override
        public void run() {
            throw new IllegalStateException("as it should");
        }
    }

    /** A controller. Its methods are called by reflection, as Spring calls them. */
    public static final class Orders {
        @Scheduled(fixedDelay = 1000)
        public void tick() {
            RUN.release();
        }

        @GetMapping("/orders")
        public String list() {
            return notARoute();
        }

        @PostMapping("/orders")
        public String broken() {
            throw new IllegalStateException("as it should");
        }

        private String notARoute() {
            return "";
        }
    }

    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        ScheduledExecutorService scheduled = Executors.newScheduledThreadPool(1);
        for (int i = 0; i < 4; i++) { // so that all workers wait before Sonde comes
            round(pool, scheduled);
        }
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            int rounds = Integer.parseInt(line.substring("work ".length()));
            for (int i = 0; i < rounds; i++) {
                round(pool, scheduled);
            }
            System.out.println("did " + rounds);
        }
        System.exit(0);
    }

    private static void round(ExecutorService pool, ScheduledExecutorService scheduled) throws Exception {
        pool.submit(new Job()).get();
        pool.execute(new Job());
        scheduled.schedule(new Job(), 0, TimeUnit.MILLISECONDS).get();
        pool.execute(new ScheduledMethodRunnable(new Orders(), "tick"));
        RUN.acquire(4);
        pool.submit(new Ask()).get();
        pool.submit(() -> Thread.currentThread().getName()).get();
        try {
            pool.submit(new Failing()).get();
            throw new IllegalStateException("the task fails");
        } catch (ExecutionException expected) {
            // The task fails.
        }
        for (String name : new String[] {"list", "broken"}) {
            Method route = Orders.class.getMethod(name);
            try {
                route.invoke(new Orders());
            } catch (InvocationTargetException expected) {
                // One of them fails.
            }
        }
    }
}
