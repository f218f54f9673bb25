package ledger;

/** A method without a name in the source, such as a lambda's body: it finds its name when it first runs. */
public final class Site {
    private static final StackWalker WALKER = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
    private volatile String name;

    /** Is the full name of the method that calls. */
    public String name() {
        if (name == null) {
            name = WALKER.walk(frames -> frames.skip(1).findFirst().map(f ->
                    f.getDeclaringClass().getName().replace('.', '/') + "." + f.getMethodName() + f.getDescriptor()).orElseThrow());
        }
        return name;
    }
}
