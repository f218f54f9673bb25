/** try-with-resources: order of closing, suppressed failures of close, null resources, results from inside. */
public final class Resources {
    static final class Resource implements AutoCloseable {
        final String name;
        final boolean failsToClose;

        Resource(String name, boolean failsToOpen, boolean failsToClose) {
            if (failsToOpen) {
                throw new IllegalStateException("cannot open " + name);
            }
            this.name = name;
            this.failsToClose = failsToClose;
            System.out.println("open " + name);
        }

        @Override
        public void close() {
            System.out.println("close " + name);
            if (failsToClose) {
                throw new IllegalStateException("cannot close " + name);
            }
        }
    }

    public static void main(String[] args) {
        for (int mode = 0; mode < 6; mode++) {
            try {
                System.out.println("result " + use(mode));
            } catch (IllegalStateException e) {
                System.out.println("mode " + mode + ": " + e.getMessage());
                for (Throwable suppressed : e.getSuppressed()) {
                    System.out.println("  suppressed " + suppressed.getMessage() + " line "
                            + suppressed.getStackTrace()[0].getLineNumber());
                }
            } finally {
                System.out.println("--");
            }
        }
        existing();
    }

    static long use(int mode) {
        try (Resource a = new Resource("a", false, mode == 1 || mode == 3);
                Resource none = null;
                Resource b = new Resource("b", mode == 2, mode == 3 || mode == 4)) {
            if (mode == 3 || mode == 5) {
                throw new IllegalStateException("body");
            }
            return a.name.length() + b.name.length() + (none == null ? 10L : 0);
        }
    }

    static void existing() {
        Resource shared = new Resource("shared", false, false);
        try (shared) {
            for (int i = 0; i < 3; i++) {
                try (Resource inner = new Resource("inner" + i, false, false)) {
                    if (i == 1) {
                        continue;
                    }
                    System.out.println("using " + inner.name);
                }
            }
        } finally {
            System.out.println("done");
        }
    }
}
