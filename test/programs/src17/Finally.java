/** Finally blocks: order, overridden results, nesting, loops left by break and continue. */
@SuppressWarnings("finally")
public final class Finally {
    static final StringBuilder LOG = new StringBuilder();

    public static void main(String[] args) {
        System.out.println(value() + " " + overridden() + " " + swallowed() + " " + snapshot());
        System.out.println(nested(0) + nested(1) + nested(2) + nested(3));
        loops();
        System.out.println(longResult() + " " + doubleResult() + " " + referenceResult());
        System.out.println(returnFromTry(true) + returnFromTry(false));
        try {
            finallyAfterThrow();
        } catch (IllegalStateException e) {
            LOG.append("[caught ").append(e.getMessage()).append(']');
        }
        System.out.println(LOG);
    }

    static int value() {
        try {
            return 1;
        } finally {
            LOG.append("value;");
        }
    }

    static int overridden() {
        try {
            return 1;
        } finally {
            return 2;
        }
    }

    static int swallowed() {
        try {
            throw new IllegalStateException();
        } finally {
            return 3;
        }
    }

    static int snapshot() {
        int n = 10;
        try {
            return n;
        } finally {
            n = 99;
        }
    }

    static String nested(int mode) {
        String trace = "";
        try {
            try {
                if (mode == 1) {
                    throw new IllegalArgumentException();
                }
                if (mode == 2) {
                    return trace + "r";
                }
                trace += "a";
            } catch (IllegalArgumentException e) {
                trace += "c";
                if (mode == 1) {
                    throw new IllegalStateException(e);
                }
            } finally {
                trace += "f";
                if (mode == 3) {
                    trace += "3";
                }
            }
        } catch (IllegalStateException e) {
            trace += "C";
        } finally {
            LOG.append(trace).append(';');
        }
        return trace;
    }

    static void loops() {
        for (int i = 0; i < 5; i++) {
            try {
                if (i == 1) {
                    continue;
                }
                if (i == 3) {
                    break;
                }
                LOG.append(i);
            } finally {
                LOG.append('f');
            }
        }
        LOG.append(';');
    }

    static long longResult() {
        try {
            return 1L << 40;
        } finally {
            LOG.append("l;");
        }
    }

    static double doubleResult() {
        try {
            return Math.sqrt(2);
        } finally {
            LOG.append("d;");
        }
    }

    static Object referenceResult() {
        try {
            return new StringBuilder("ref");
        } finally {
            LOG.append("r;");
        }
    }

    static String returnFromTry(boolean early) {
        try {
            if (early) {
                return "early ";
            }
        } finally {
            LOG.append(early ? 'e' : 'n');
        }
        return "normal";
    }

    static void finallyAfterThrow() {
        try {
            throw new IllegalStateException("original");
        } finally {
            for (int i = 0; i < 3; i++) {
                LOG.append(i);
            }
        }
    }
}
