import sonde.template.Template;

/** Methods that are no templates, one defect each. */
public final class Refusals {
    static boolean flag;

    public static final class Loop {
        static void t() {
            for (int i = 0; i < 2; i++) {
                Template.target();
            }
        }
    }

    public static final class Conditional {
        static void t() {
            if (System.nanoTime() > 0) {
                Template.target();
            }
        }
    }

    public static final class ReturnBefore {
        static void t() {
            if (System.nanoTime() > 0) {
                return;
            }
            Template.target();
        }
    }

    public static final class Swallow {
        static void t() {
            try {
                Template.target();
            } catch (RuntimeException e) {
                System.out.println(e);
            }
        }
    }

    public static final class ReturnInFinally {
        @SuppressWarnings("finally")
        static void t() {
            try {
                Template.target();
            } finally {
                return;
            }
        }
    }

    public static final class Retry {
        static void t() {
            while (true) {
                try {
                    Template.target();
                    return;
                } catch (RuntimeException e) {
                    System.out.println("again");
                }
            }
        }
    }

    public static final class Twice {
        static void t() {
            Template.target();
            Template.target();
        }
    }

    public static final class InFinally {
        static void t() {
            try {
                System.out.println();
            } finally {
                Template.target();
            }
        }
    }

    public static final class InstanceMethod {
        void t() {
            Template.target();
        }
    }

    public static final class Arguments {
        static void t(int i) {
            Template.target();
        }
    }

    public static final class Returns {
        static int t() {
            Template.target();
            return 1;
        }
    }

    public static final class PrivateHelper {
        static void t() {
            help();
            Template.target();
        }

        private static void help() {
        }
    }

    static final class HiddenClass {
        static void t() {
            help();
            Template.target();
        }

        public static void help() {
        }
    }

    public static final class PrivateField {
        private static int count;

        static void t() {
            count++;
            Template.target();
        }
    }

    public static final class Lambda {
        static void t() {
            Runnable r = () -> System.out.println();
            r.run();
            Template.target();
        }
    }

    public static final class ResultBefore {
        static void t() {
            System.out.println(Template.result());
            Template.target();
        }
    }

    public static final class ResultInCatch {
        static void t() {
            try {
                Template.target();
            } catch (RuntimeException e) {
                System.out.println(Template.resultInt());
                throw e;
            }
        }
    }

    public static final class VariableArgument {
        static void t() {
            for (int i = 0; i < Template.argCount(); i++) {
                System.out.println(Template.arg(i));
            }
            Template.target();
        }
    }

    public static final class ChosenArgument {
        static void t() {
            System.out.println(Template.arg(System.nanoTime() > 0 ? 0 : 1));
            Template.target();
        }
    }

    public static final class HighArgument {
        static void t() {
            System.out.println(Template.arg(256));
            Template.target();
        }
    }

    public static final class NegativeArgument {
        static void t() {
            System.out.println(Template.arg(-1));
            Template.target();
        }
    }

    public static final class None {
        static void t() {
        }
    }

    public static final class Several {
        static void t() {
            Template.target();
        }

        static void u() {
            Template.target();
        }
    }

    public static final class Overloaded {
        static void t() {
            Template.target();
        }

        static void t(int i) {
        }
    }

    static class Locked {
        static synchronized void t() {
            Template.target();
        }
    }

    public static final class Native {
        static native void t();
    }

    public static final class InsideExpression {
        static void t() {
            System.out.println(1 + switch ((int) System.nanoTime()) {
                default -> {
                    Template.target();
                    yield 2;
                }
            });
        }
    }
}
