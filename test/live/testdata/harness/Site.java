package harness;

/** A method without a name in the source, such as a lambda's body: it finds its name when it first runs. */
public final class Site {
    private static final StackWalker WALKER = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
    private final long entries;
    private final long exceptions;
    private volatile int id = -1;

    /** Takes what one round of the workload amounts to. */
    public Site(long entries, long exceptions) {
        this.entries = entries;
        this.exceptions = exceptions;
    }

    /** Counts an entry of the method that calls. */
    public void in() {
        if (id < 0) {
            id = WALKER.walk(frames -> frames.skip(1).findFirst()
                    .map(f -> f.getDeclaringClass().getName().replace('.', '/') + "." + f.getMethodName() + f.getDescriptor())
                    .map(name -> Tally.register(name, Tally.Trust.EXACT, entries, exceptions)).orElseThrow());
        }
        Tally.in(id);
    }

    /** Counts an end by exception, and hands the exception on. */
    public <T extends Throwable> T out(T thrown) {
        return Tally.out(id, thrown);
    }
}
