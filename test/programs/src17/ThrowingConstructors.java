/** Constructors that throw: in the arguments of super, in super itself, in the body, along chains of this(...). */
public final class ThrowingConstructors {
    static class Base {
        final String name;

        Base(String name) {
            if (name == null) {
                throw new IllegalArgumentException("no name");
            }
            this.name = name;
            System.out.println("Base " + name);
        }
    }

    static String fail(String message) {
        throw new IllegalStateException(message);
    }

    static final class InArguments extends Base {
        InArguments() {
            super(fail("in the arguments"));
        }
    }

    static final class InSuper extends Base {
        InSuper() {
            super(null);
        }
    }

    static final class InBody extends Base {
        InBody() {
            super("body");
            fail("in the body");
        }
    }

    static final class InField extends Base {
        final String field = fail("in a field");

        InField() {
            super("field");
        }
    }

    static final class InInitializer extends Base {
        {
            if (name.length() > 3) {
                fail("in an initializer");
            }
        }

        InInitializer(String name) {
            super(name);
        }
    }

    static final class Chained extends Base {
        int steps;

        Chained() {
            this(2);
            steps += 100;
        }

        Chained(int n) {
            this(n, n > 1 ? "chain" : fail("in a chain"));
            steps += 10;
        }

        Chained(int n, String name) {
            super(name);
            steps++;
            if (n > 5) {
                throw new ArithmeticException("at the end of a chain");
            }
        }
    }

    static final class Caught extends Base {
        String outcome;

        Caught(boolean bad) {
            super("caught");
            try {
                if (bad) {
                    fail("swallowed");
                }
                outcome = "fine";
            } catch (IllegalStateException e) {
                outcome = e.getMessage();
                return;
            } finally {
                System.out.println("finally in a constructor");
            }
            outcome += "!";
        }
    }

    interface Maker {
        Object make() throws Exception;
    }

    public static void main(String[] args) {
        attempt(InArguments::new);
        attempt(InSuper::new);
        attempt(InBody::new);
        attempt(InField::new);
        attempt(() -> new InInitializer("abc").name);
        attempt(() -> new InInitializer("abcd").name);
        attempt(() -> new Chained().steps);
        attempt(() -> new Chained(1).steps);
        attempt(() -> new Chained(6).steps);
        attempt(() -> new Caught(true).outcome);
        attempt(() -> new Caught(false).outcome);
        escaped();
    }

    static Leaky leaked;

    static final class Leaky extends Base {
        final int value;

        Leaky(int value) {
            super("leaky");
            leaked = this;
            this.value = value;
            if (value > 3) {
                throw new IllegalStateException("too much");
            }
        }
    }

    /** An object may be seen although its constructor failed. */
    static void escaped() {
        attempt(() -> new Leaky(4));
        System.out.println("leaked " + leaked.value + " " + leaked.name);
    }

    static void attempt(Maker maker) {
        try {
            Object made = maker.make();
            System.out.println("made " + (made instanceof Base ? "a " + made.getClass().getSimpleName() : made));
        } catch (Exception e) {
            System.out.println("failed: " + e);
            for (StackTraceElement frame : e.getStackTrace()) {
                System.out.println("    " + frame);
            }
        }
    }
}
