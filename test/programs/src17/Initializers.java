/** Static initialisers: order, cycles, failures and what follows a failure, threads that wait for one. */
public final class Initializers {
    static void say(String text) {
        System.out.println(text);
    }

    static class Parent {
        static final int A = compute("Parent.A", 1);

        static {
            say("Parent block");
        }

        static final int B = compute("Parent.B", A + 1);
    }

    static class Child extends Parent {
        static final String CONSTANT = "never initialises";
        static int value = compute("Child.value", B + 1);
    }

    static class Failing {
        static int runs;

        static {
            say("Failing begins");
            if (runs == 0) {
                throw new IllegalStateException("static failure");
            }
        }

        static void touch() {
            say("touched");
        }
    }

    static class FailingByError {
        static final int[] ARRAY = new int[compute("length", -1)];
    }

    static class Ping {
        static final Integer VALUE = Pong.value() + 1;
    }

    static class Pong {
        static final Integer VALUE = Ping.VALUE == null ? 100 : Ping.VALUE + 1000;

        static Integer value() {
            return VALUE;
        }
    }

    static class Loop {
        static final long SUM;

        static {
            long sum = 0;
            for (int i = 0; i < 10; i++) {
                try {
                    sum += 10 / (i % 4);
                } catch (ArithmeticException e) {
                    sum += 1000;
                } finally {
                    sum++;
                }
            }
            SUM = sum;
        }
    }

    static int compute(String what, int n) {
        say(what + " = " + n);
        return n;
    }

    public static void main(String[] args) throws Exception {
        say(Child.CONSTANT);
        say("child " + Child.value);
        for (int i = 0; i < 2; i++) {
            try {
                Failing.touch();
            } catch (ExceptionInInitializerError e) {
                say("first: " + e.getCause() + " at " + e.getCause().getStackTrace()[0]);
            } catch (NoClassDefFoundError e) {
                say("then: " + e.getMessage());
            }
        }
        try {
            say("" + FailingByError.ARRAY.length);
        } catch (ExceptionInInitializerError e) {
            say("error: " + e.getCause());
        }
        say(Ping.VALUE + " " + Pong.VALUE);
        say("sum " + Loop.SUM);
        Class.forName("Initializers$Late");
        Thread[] threads = new Thread[3];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                if (Shared.N != 5) {
                    say("seen too early");
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        say("instance order " + new Instance().log);
    }

    static class Late {
        static {
            say("Late by name");
        }
    }

    static class Shared {
        static final int N;

        static {
            say("Shared once");
            N = 5;
        }
    }

    static class Instance {
        final StringBuilder log = new StringBuilder("a");

        {
            log.append('b');
        }

        final int n = log.append('c').length();

        Instance() {
            log.append(n);
        }

        {
            log.append('d');
        }
    }
}
