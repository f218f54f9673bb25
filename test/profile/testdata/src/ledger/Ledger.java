package ledger;

import java.io.PrintStream;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * The program's own truth: how often each method was entered in each calling context below a root,
 * and how often it ended by an exception. What a thread does outside of any root is not counted.
 *
 * <p>A method that calls others brackets its body: {@code in} at its begin, {@code out} before it
 * returns, {@code threw} where an exception leaves it. One that calls none only says {@code count}.
 * Frames that an exception passes without a word are left behind by the next {@code out} further up.
 */
public final class Ledger {
    private static final ThreadLocal<Call[]> CURRENT = ThreadLocal.withInitial(Ledger::outside);
    private static volatile Call top = new Call(null, "");

    /** A method in a calling context. */
    public static final class Call {
        private final Call caller;
        private final String method;
        private final Map<String, Call> callees = new ConcurrentHashMap<>();
        private final LongAdder entered = new LongAdder();
        private final LongAdder threw = new LongAdder();
        private volatile boolean unsure;

        private Call(Call caller, String method) {
            this.caller = caller;
            this.method = method;
        }

        private Call callee(String name) {
            Call known = callees.get(name);
            if (known == null) {
                Call fresh = new Call(this, name);
                Call other = callees.putIfAbsent(name, fresh);
                known = other == null ? fresh : other;
            }
            return known;
        }

        private void print(PrintStream out, String path) {
            if (entered.sum() != 0) {
                out.println("context " + entered.sum() + " " + (unsure ? -1 : threw.sum()) + path);
            }
            for (Call callee : callees.values()) {
                callee.print(out, path + " " + callee.method);
            }
        }
    }

    private Ledger() {
    }

    private static Call[] outside() {
        return new Call[1];
    }

    /** Begins a call of a root, by its full name such as pkg/Class.method(I)J. */
    public static Call root(String method) {
        Call[] current = CURRENT.get();
        return enter(current, current[0] == null ? top : current[0], method);
    }

    /** Begins a call of a method that is no root. */
    public static Call in(String method) {
        Call[] current = CURRENT.get();
        return current[0] == null ? null : enter(current, current[0], method);
    }

    private static Call enter(Call[] current, Call caller, String method) {
        Call call = caller.callee(method);
        call.entered.increment();
        current[0] = call;
        return call;
    }

    /** Begins a call and hands an argument on: for what is written before a call of super or this. */
    public static long in(String method, long argument) {
        in(method);
        return argument;
    }

    /** Is the innermost call of a method that has begun: for what is written behind a call of super. */
    public static Call find(String method) {
        Call call = CURRENT.get()[0];
        while (call != null && !call.method.equals(method)) {
            call = call.caller;
        }
        return call;
    }

    /** Counts a call of a method that calls no other. */
    public static void count(String method) {
        out(in(method));
    }

    /** Ends a call. */
    public static void out(Call call) {
        if (call != null) {
            CURRENT.get()[0] = call.caller == null || call.caller.method.isEmpty() ? null : call.caller;
        }
    }

    /** Ends a call and hands its result on. */
    public static long out(Call call, long result) {
        out(call);
        return result;
    }

    /** Ends a call by an exception, which it hands on, to be thrown. */
    public static <T extends Throwable> T threw(Call call, T thrown) {
        if (call != null) {
            call.threw.increment();
        }
        out(call);
        return thrown;
    }

    /** Counts a call that ends by an exception, which it hands on. */
    public static <T extends Throwable> T threw(String method, T thrown) {
        return threw(in(method), thrown);
    }

    /**
     * Is {@code in} for a constructor whose call of super or this may throw: no handler may stand
     * around that, so nobody can tell by how many exceptions the constructor ended.
     */
    public static long unsure(String method, long argument) {
        Call call = in(method);
        if (call != null) {
            call.unsure = true;
        }
        return argument;
    }

    /** Prints lines "context entered threw path", then "end"; threw is -1 where nobody can tell. */
    static void print(PrintStream out) {
        top.print(out, "");
        out.println("end");
    }

    /** Begins anew. No thread may be below a root. */
    static void forget() {
        top = new Call(null, "");
    }
}
