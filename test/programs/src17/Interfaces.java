/** Interface methods: default, static, private, diamonds resolved by super calls, initialisation by defaults. */
public final class Interfaces {
    interface Named {
        default String name() {
            return prefix() + "named" + count();
        }

        private String prefix() {
            return "[" + secret(2) + "]";
        }

        private static int secret(int n) {
            return n * 21;
        }

        static Named of(String name) {
            return new Named() {
                @Override
                public String name() {
                    return name + "/" + Named.super.name();
                }
            };
        }

        default long count() {
            return 1L;
        }
    }

    interface Left extends Named {
        @Override
        default String name() {
            return "left:" + Named.super.name();
        }
    }

    interface Right extends Named {
        @Override
        default String name() {
            return "right:" + Named.super.name();
        }

        @Override
        default long count() {
            throw new UnsupportedOperationException("right does not count");
        }
    }

    static final class Both implements Left, Right {
        @Override
        public String name() {
            return Left.super.name();
        }

        @Override
        public long count() {
            try {
                return Right.super.count();
            } catch (UnsupportedOperationException e) {
                System.out.println(e.getMessage() + " at " + e.getStackTrace()[0]);
                return 2;
            }
        }
    }

    interface Noisy {
        int VALUE = Interfaces.say("Noisy initialised");

        default void ping() {
        }
    }

    interface Silent {
        int VALUE = Interfaces.say("Silent initialised");

        void ping();
    }

    static final class Loud implements Noisy, Silent {
        @Override
        public void ping() {
            System.out.println("ping");
        }
    }

    @FunctionalInterface
    interface Folding {
        double fold(double a, double b);

        default Folding twice() {
            return (a, b) -> fold(fold(a, b), b);
        }

        static Folding plus() {
            return (a, b) -> a + b;
        }
    }

    static int say(String text) {
        System.out.println(text);
        return 7;
    }

    public static void main(String[] args) {
        System.out.println(Named.of("x").name());
        System.out.println(new Both().name());
        new Loud().ping();
        System.out.println("now silent: " + Silent.VALUE);
        System.out.println(Folding.plus().twice().twice().fold(1, 0.5));
        Named anonymous = new Right() {
            @Override
            public long count() {
                return 3;
            }
        };
        System.out.println(anonymous.name());
    }
}
