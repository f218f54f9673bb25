import sonde.template.Template;

/** Templates that may be woven. */
public final class Templates {
    private Templates() {
    }

    static void probe() {
        long token = Log.enter(Template.methodId());
        try {
            Template.target();
        } finally {
            Log.exit(token);
        }
    }

    /** Locals of all kinds across the target, a loop, catch and finally. */
    static void rich() {
        long token = Log.enter(Template.methodId());
        double weight = 0.5;
        for (int i = 0; i < Template.argCount(); i++) {
            weight *= 2;
        }
        String name = Template.methodName();
        boolean returned = false;
        try {
            Template.target();
            returned = true;
            if (Template.result() == name) {
                Log.add("never");
            }
        } catch (RuntimeException e) {
            if (e != Template.thrown()) {
                Log.add("another was thrown: " + e);
            }
            throw e;
        } finally {
            Throwable thrown = Template.thrown();
            int rounds = 0;
            do {
                rounds++;
                if (thrown != null && rounds > 1) {
                    break;
                }
            } while (rounds < 3);
            Log.left(Template.methodId(), token, returned, Template.self(), weight);
        }
    }

    /** Everything that fits every method. */
    static void all() {
        Log.add("> " + Template.methodName() + " of " + Template.className() + " takes " + Template.argCount());
        if (Template.thrown() != null) {
            Log.add("thrown before the target ran");
        }
        try {
            Template.target();
            Log.add("< " + Log.show(Template.result()));
        } finally {
            Log.add("= self " + Log.show(Template.self()) + ", thrown " + Template.thrown());
        }
    }

    static void first() {
        String before = Log.show(Template.arg(0));
        Template.target();
        Log.add(Template.methodName() + ": " + before + " stays " + Log.show(Template.arg(0)));
    }

    static void second() {
        try {
            Template.target();
        } finally {
            Log.add(Template.methodName() + ": " + Log.show(Template.arg(0)) + " and " + Log.show(Template.arg(1)));
        }
    }

    static void ints() {
        int before = Template.argInt(0);
        Template.target();
        Log.add(Template.methodName() + ": " + before + " " + Template.argInt(0) + " gives " + Template.resultInt());
    }

    static void longs() {
        long before = Template.argLong(0);
        Template.target();
        Log.add(Template.methodName() + ": " + before + " " + Template.argLong(0) + " gives " + Template.resultLong());
    }

    static void floats() {
        float before = Template.argFloat(0);
        Template.target();
        Log.add(Template.methodName() + ": " + before + " " + Template.argFloat(0) + " gives " + Template.resultFloat());
    }

    static void doubles() {
        double before = Template.argDouble(0);
        Template.target();
        Log.add(Template.methodName() + ": " + before + " " + Template.argDouble(0) + " gives " + Template.resultDouble());
    }

    static void self() {
        Object self = Template.self();
        Template.target();
        if (self != Template.self()) {
            Log.add("this has changed");
        }
        Log.add(Template.methodName() + ": " + Log.show(self));
    }

    /** Switches, nested blocks that catch and clean up, and monitors within monitors. */
    static void tangled() {
        int n = Template.methodId() & 3;
        String kind;
        switch (n) {
            case 0: kind = "none"; break;
            case 1: kind = "one"; break;
            default: kind = "many";
        }
        switch (kind) {
            case "none": n += 10; break;
            case "one": n += 20; break;
            default: n += 30;
        }
        try {
            for (int i = 0; ; i++) {
                try {
                    if (i == 2) {
                        throw new IllegalStateException(kind);
                    }
                } finally {
                    n++;
                }
            }
        } catch (IllegalStateException e) {
            n += e.getMessage().length();
        }
        synchronized (Log.LOCK) {
            synchronized (kind) {
                try {
                    Template.target();
                    while (n > 30) {
                        n -= 7;
                    }
                } finally {
                    try {
                        if (!Thread.holdsLock(kind) || !Thread.holdsLock(Log.LOCK)) {
                            Log.add("a monitor was lost");
                        }
                        Log.class.getMethod("no such method");
                    } catch (NoSuchMethodException | SecurityException e) {
                        n++;
                    } finally {
                        n--;
                    }
                }
            }
        }
        switch (n) {
            case 100000: Log.add("never"); break;
            case -7: Log.add("never"); break;
            default:
        }
    }

    static void outer() {
        Log.add("outer {");
        try {
            Template.target();
        } finally {
            Log.add("} outer");
        }
    }

    static void middle() {
        String name = Template.methodName();
        Log.add("middle { " + name);
        Template.target();
        Log.add("} middle " + name);
    }

    static void inner() {
        Log.add("inner {");
        try {
            Template.target();
        } catch (RuntimeException e) {
            Log.add("inner sees " + e.getMessage());
            throw e;
        }
        Log.add("} inner " + Log.show(Template.result()));
    }

    /** Its epilog fails. What it throws must not come to the target's own handlers. */
    static void failing() {
        Template.target();
        Log.add("failing");
        Log.fail();
    }
}
