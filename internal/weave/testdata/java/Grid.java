import sonde.template.Template;

/** Templates of awkward shapes: each pair of them is woven around every handmade class. */
public final class Grid {
    private Grid() {}

    /** A prolog that branches, with nothing alive while the target runs. */
    static void loopBefore() {
        if (GridHooks.on()) {
            for (int i = 0; i < 3; i++) GridHooks.hit(i);
        }
        Template.target();
    }

    /** An object in the making across a branch, in a handler. */
    static void newInCatch() {
        try {
            Template.target();
        } catch (RuntimeException e) {
            GridHooks.see(new StringBuilder(e == null ? "a" : "b"));
            throw e;
        }
    }

    /** What was thrown, and no variable of its own. */
    static void thrownOnly() {
        Template.target();
        GridHooks.see(Template.thrown());
    }

    /** Code that is reached from before the target and from behind it. */
    static void deny() {
        RuntimeException t;
        if (!GridHooks.on()) {
            t = GridHooks.denial();
        } else {
            try {
                Template.target();
                return;
            } catch (RuntimeException e) {
                t = e;
            }
        }
        GridHooks.hit(1);
        throw t;
    }

    /** A block around the target in two pieces. */
    static void split() {
        while (true) {
            try {
                if (GridHooks.again()) continue;
                Template.target();
                break;
            } finally {
                GridHooks.hit(2);
            }
        }
    }

    /** Code that runs before the target and stands behind it. */
    static void ifAround() {
        int q = GridHooks.n();
        if (GridHooks.on()) {
            try {
                Template.target();
                GridHooks.hit(q);
                return;
            } catch (Error e) {
                throw e;
            }
        }
        throw GridHooks.denial();
    }

    static void newBefore() {
        Object o = new StringBuilder(GridHooks.on() ? "a" : "b");
        try {
            Template.target();
        } finally {
            GridHooks.see(new StringBuilder(GridHooks.on() ? "c" : o.toString()));
        }
    }

    static void nested() {
        try {
            GridHooks.hit(0);
            try {
                Template.target();
                GridHooks.hit(3);
            } catch (IllegalArgumentException e) {
                GridHooks.hit(4);
                throw e;
            } finally {
                GridHooks.hit(5);
            }
        } catch (RuntimeException e) {
            GridHooks.see(Template.self());
            throw e;
        } finally {
            GridHooks.see(Template.thrown());
        }
    }

    static void resultLoop() {
        Object r = null;
        int n = 0;
        Template.target();
        do {
            r = Template.result();
            n++;
        } while (n < 3 && GridHooks.on());
        GridHooks.see(r);
    }

    static void locked() {
        synchronized (GridHooks.class) {
            Template.target();
        }
    }

    static void switches() {
        String k;
        switch (GridHooks.n()) {
            case 1: k = "a"; break;
            case 500: k = "b"; break;
            default: k = "c";
        }
        try {
            Template.target();
        } catch (RuntimeException e) {
            switch (k) {
                case "a": GridHooks.hit(1); break;
                default: GridHooks.hit(2);
            }
            throw e;
        }
    }

    static void selfFinally() {
        try {
            Template.target();
        } finally {
            GridHooks.see(Template.self());
        }
    }

    static void selfBehind() {
        Template.target();
        GridHooks.see(Template.self());
    }

    static void across() {
        long t = GridHooks.now();
        int k = GridHooks.n();
        try {
            Template.target();
        } finally {
            GridHooks.hit(k + (int) t);
        }
    }

    static void nullAcross() {
        Object o = null;
        Template.target();
        if (GridHooks.on()) o = "x";
        GridHooks.see(o);
    }
}
