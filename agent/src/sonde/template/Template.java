package sonde.template;

/**
 * The operations that a template has on the method it is woven around.
 *
 * <p>A template is an ordinary {@code static void} method without parameters, compiled by javac. Everything
 * before {@link #target()} runs before the method, everything after it runs afterwards:
 *
 * <pre>
 * static void slowCalls() {
 *     long start = System.nanoTime();
 *     try {
 *         Template.target();
 *     } finally {
 *         Log.call(Template.methodName(), System.nanoTime() - start);
 *     }
 * }
 * </pre>
 *
 * <p>A template may have locals, branches, loops, try/catch/finally, constants and calls of anything the
 * instrumented class can see. It holds exactly one {@link #target()}.
 *
 * <p>Every method here is an intrinsic: weaving replaces each call by bytecode, so that this class is neither
 * needed nor loaded when the woven program runs. Arguments of intrinsics are compile-time
 * constants. A template that is run instead of woven fails with {@link IllegalStateException}.
 *
 * <p>The behaviour of the target does not change: its result is returned and its exception thrown after the epilog
 * has run, unless the epilog itself throws.
 */
public final class Template {
    private Template() {
    }

    /**
     * Stands for the body of the target method: weaving puts that body here.
     *
     * <p>In a constructor the prolog runs first, but a {@code try} block around the target begins only when
     * {@code super(...)} or {@code this(...)} has returned: the JVM does not allow a handler around an uninitialised
     * object, so the template does not see an exception that leaves the constructor earlier.
     */
    public static void target() {
        throw notWoven("target");
    }

    /**
     * Returns the target's {@code this}, or null in a static method. In a constructor it can be used only after
     * {@link #target()}: before, the object is not initialised.
     */
    public static Object self() {
        throw notWoven("self");
    }

    /**
     * Returns the target's argument {@code index}, counted from 0 without {@code this}. A primitive is boxed,
     * which allocates: if the type is known, the other forms of this method are cheaper.
     *
     * @param index a constant
     */
    public static Object arg(int index) {
        throw notWoven("arg");
    }

    /**
     * Returns argument {@code index}, an int, boolean (0 or 1), byte, short or char.
     *
     * @param index a constant
     */
    public static int argInt(int index) {
        throw notWoven("argInt");
    }

    /**
     * Returns argument {@code index}, a long.
     *
     * @param index a constant; arguments are counted, not the slots they take
     */
    public static long argLong(int index) {
        throw notWoven("argLong");
    }

    /**
     * Returns argument {@code index}, a float.
     *
     * @param index a constant
     */
    public static float argFloat(int index) {
        throw notWoven("argFloat");
    }

    /**
     * Returns argument {@code index}, a double.
     *
     * @param index a constant; arguments are counted, not the slots they take
     */
    public static double argDouble(int index) {
        throw notWoven("argDouble");
    }

    /** Returns the number of the target's declared parameters, without {@code this}. */
    public static int argCount() {
        throw notWoven("argCount");
    }

    /**
     * Returns the value that the target is about to return; allowed only after {@link #target()}. A primitive is
     * boxed; null for a {@code void} method. It is not allowed where the target may have thrown.
     */
    public static Object result() {
        throw notWoven("result");
    }

    /** Returns the int, boolean (0 or 1), byte, short or char the target is about to return. */
    public static int resultInt() {
        throw notWoven("resultInt");
    }

    /** Returns the long the target is about to return. */
    public static long resultLong() {
        throw notWoven("resultLong");
    }

    /** Returns the float the target is about to return. */
    public static float resultFloat() {
        throw notWoven("resultFloat");
    }

    /** Returns the double the target is about to return. */
    public static double resultDouble() {
        throw notWoven("resultDouble");
    }

    /** Returns the exception of the target, or null if it threw none or has not run yet. */
    public static Throwable thrown() {
        throw notWoven("thrown");
    }

    /**
     * Returns the target's id: the CRC-32C of {@code a/b/C.name(descriptor)}. It is the same in
     * every run and on every machine; two methods may share an id, so store {@link #methodName()} as well.
     */
    public static int methodId() {
        throw notWoven("methodId");
    }

    /**
     * Returns the target's name, such as {@code a.b.C.name(ILjava/lang/String;)V}. It is a string constant:
     * the same method gives the identical object everywhere, so that {@code ==} compares methods.
     */
    public static String methodName() {
        throw notWoven("methodName");
    }

    /** Returns the name of the class that declares the target, such as {@code a.b.C}; a string constant. */
    public static String className() {
        throw notWoven("className");
    }

    /**
     * Stands for a condition that is compiled separately and inserted here: 1 if it holds, 0 if not, -1 if it
     * cannot be evaluated. The template must catch its exceptions.
     *
     * @param number a constant; identifies the condition within the template
     */
    public static int condition(int number) {
        throw notWoven("condition");
    }

    /**
     * Is {@link #condition(int)} for a condition that may read the time of the target.
     *
     * @param elapsed nanoseconds, or any number that is not negative if it is not read
     * @param number a constant
     */
    public static int condition(long elapsed, int number) {
        throw notWoven("condition");
    }

    /**
     * Stands for an expression that is compiled separately and inserted here: its value as text, or null.
     *
     * @param number a constant; identifies the value within the template
     */
    public static String value(int number) {
        throw notWoven("value");
    }

    /**
     * Counts something. This and the methods below record values, which {@code sonde apply} shows while the program
     * runs; templates of {@code sonde instrument} cannot use them.
     *
     * @param name a constant of at most 64 letters, digits, '.', '_' and '-'
     */
    public static void count(String name) {
        throw notWoven("count");
    }

    /**
     * Adds to a sum, which also has the number of its values and the largest one.
     *
     * @param name a constant
     * @param value 0 if it is negative
     */
    public static void add(String name, long value) {
        throw notWoven("add");
    }

    /**
     * Adds a value to a distribution, which has percentiles as well.
     *
     * @param name a constant
     * @param value 0 if it is negative
     */
    public static void histogram(String name, long value) {
        throw notWoven("histogram");
    }

    /**
     * Sets a tag of the transaction, until the target has ended. Results of probes can be grouped by it.
     *
     * @param name a constant
     * @param value at most 512 characters are kept; may be null
     */
    public static void tag(String name, String value) {
        throw notWoven("tag");
    }

    /**
     * Counts an event by its text. There is room for some thousand different texts.
     *
     * @param name a constant
     * @param text at most 512 characters are kept; may be null
     */
    public static void event(String name, String text) {
        throw notWoven("event");
    }

    private static IllegalStateException notWoven(String intrinsic) {
        return new IllegalStateException("sonde.template.Template." + intrinsic
                + "() was executed: a template is not run by itself; weave it with sonde instrument or sonde apply");
    }
}
