package sonde.template;

/**
 * What a template may ask of the method it is woven around.
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
 * <p>Every method here is an intrinsic: weaving replaces each call by bytecode of its own, so that nothing of
 * this class is needed, or loaded, when the woven program runs. Arguments of intrinsics are compile-time
 * constants. A template that is run instead of woven fails with {@link IllegalStateException}.
 *
 * <p>What the target does stays what it was: its result is returned and its exception thrown after the epilog
 * has run, unless the epilog itself throws.
 */
public final class Template {
    private Template() {
    }

    /**
     * Stands for the body of the target method: weaving puts that body here.
     *
     * <p>In a constructor the prolog runs first, but a {@code try} block around the target begins only when
     * {@code super(...)} or {@code this(...)} has returned: the JVM lets nothing enclose an object that is not
     * one yet, so an exception that leaves the constructor earlier passes the template by.
     */
    public static void target() {
        throw notWoven("target");
    }

    /**
     * Returns the target's {@code this}, or null in a static method. In a constructor it is to be used after
     * {@link #target()} only: before, there is no object yet.
     */
    public static Object self() {
        throw notWoven("self");
    }

    /**
     * Returns the target's argument {@code index}, counted from 0 without {@code this}. A primitive is boxed,
     * which allocates: where the type is known, the other forms of this method are cheaper.
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
     * Returns what the target is about to return; to be used after {@link #target()} only. A primitive is
     * boxed; null for a {@code void} method. It cannot be asked for where the target may have thrown.
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

    /** Returns what the target threw, or null if it threw nothing or has not run yet. */
    public static Throwable thrown() {
        throw notWoven("thrown");
    }

    /**
     * Returns the target's id: the CRC-32C of {@code a/b/C.name(descriptor)}. It is the same in
     * every run and on every machine; two methods may share one, so keep {@link #methodName()} beside it.
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
     * Stands for a condition that is compiled apart and put here: 1 where it holds, 0 if not, -1 where that
     * cannot be told. An exception that comes out of it is the template's to catch.
     *
     * @param number a constant; tells the conditions of a template apart
     */
    public static int condition(int number) {
        throw notWoven("condition");
    }

    /**
     * Is {@link #condition(int)} for one that may ask how long the target took.
     *
     * @param elapsed nanoseconds, or something else that is not negative if it does not ask
     * @param number a constant
     */
    public static int condition(long elapsed, int number) {
        throw notWoven("condition");
    }

    /**
     * Stands for an expression that is compiled apart and put here: its value as text, or null.
     *
     * @param number a constant; tells the values of a template apart
     */
    public static String value(int number) {
        throw notWoven("value");
    }

    private static IllegalStateException notWoven(String intrinsic) {
        return new IllegalStateException("sonde.template.Template." + intrinsic
                + "() was executed: a template is woven around methods, never run by itself");
    }
}
