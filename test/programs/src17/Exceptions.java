import java.io.IOException;

/** Exceptions through many frames, from catch and finally, suppressed and chained; frames and lines printed. */
public final class Exceptions {
    public static void main(String[] args) {
        throughFrames();
        fromCatch();
        fromFinally();
        suppressed();
        rethrownKeepsItsTrace();
        implicit();
        multiCatch();
        custom();
    }

    static void throughFrames() {
        try {
            deep(6);
        } catch (IllegalStateException e) {
            print("throughFrames", e);
        }
    }

    static int deep(int n) {
        if (n == 0) {
            throw new IllegalStateException("bottom");
        }
        return 1
                + deep(n - 1);
    }

    static void fromCatch() {
        try {
            try {
                throw new IOException("first");
            } catch (IOException e) {
                throw new RuntimeException("second", e);
            }
        } catch (RuntimeException e) {
            print("fromCatch", e);
            print("cause", e.getCause());
        }
    }

    @SuppressWarnings("finally")
    static void fromFinally() {
        try {
            try {
                throw new IllegalArgumentException("lost");
            } finally {
                throw new UnsupportedOperationException("kept");
            }
        } catch (RuntimeException e) {
            print("fromFinally", e);
        }
    }

    static void suppressed() {
        Exception main = new Exception("main");
        main.addSuppressed(new Exception("side one"));
        main.addSuppressed(new Exception("side two"));
        try {
            throw main;
        } catch (Exception e) {
            for (Throwable each : e.getSuppressed()) {
                print("suppressed", each);
            }
        }
    }

    static void rethrownKeepsItsTrace() {
        try {
            rethrow();
        } catch (Exception e) {
            print("rethrown", e);
        }
    }

    static void rethrow() throws Exception {
        try {
            deep(1);
        } catch (Exception e) {
            System.out.println("passing on " + e.getMessage());
            throw e;
        }
    }

    static void implicit() {
        Object[] strings = new String[1];
        int[] none = null;
        Runnable[] failures = {
            () -> System.out.println(1 / zero()),
            () -> System.out.println(none[0]),
            () -> System.out.println(new int[2][3][1].length),
            () -> strings[0] = 1,
            () -> System.out.println((Integer) (Object) "text"),
            () -> System.out.println(new int[-1].length),
            () -> System.out.println("abc".charAt(5)),
        };
        for (Runnable failure : failures) {
            try {
                failure.run();
            } catch (RuntimeException e) {
                print("implicit", e);
            }
        }
    }

    static int zero() {
        return 0;
    }

    static void multiCatch() {
        for (int i = 0; i < 3; i++) {
            try {
                pick(i);
            } catch (IOException | IllegalStateException e) {
                System.out.println("one of two: " + e);
            } catch (Error e) {
                System.out.println("error: " + e);
            }
        }
    }

    static void pick(int i) throws IOException {
        switch (i) {
            case 0: throw new IOException("io");
            case 1: throw new IllegalStateException("state");
            default: throw new AssertionError("assertion");
        }
    }

    static final class Quiet extends RuntimeException {
        final int code;

        Quiet(int code) {
            super("quiet", null, false, false);
            this.code = code;
        }
    }

    static void custom() {
        try {
            throw new Quiet(9);
        } catch (Quiet e) {
            System.out.println("custom " + e.code + " frames " + e.getStackTrace().length);
        }
    }

    static void print(String where, Throwable e) {
        System.out.println(where + ": " + e);
        for (StackTraceElement frame : e.getStackTrace()) {
            System.out.println("    " + frame);
        }
    }
}
