package java.lang;

import static sonde.layout.Layout.TAGS_MOST;

/**
 * The values of all tags at a point of a stack. They never change, so other threads can use them; any thread may
 * overwrite the cached fields.
 */
final class SondeHooksTag {
    /** The value of a tag whose expression returned null or failed. */
    private static final Object NULL = new Object();

    /** How many tags with one more value are cached, a power of two: requests set the same values again and again. */
    private static final int CHILDREN = 32;
    /** The places at which a child may be. */
    private static final int WINDOW = 4;

    private final Object[] values;
    /** The tag whose value was set last, and that value: with them, a search need not read the others. */
    private final int number;
    private final Object value;
    /** The trace of others that the work belongs to; null if it is unknown. It is different in each request, so it is in no label. */
    final String trace;
    /** By the hash of the value; null until there is one. */
    private SondeHooksTag[] children;
    /** The label of some of the tags, which are in the upper half; 0 if none is known yet. */
    private long labelled;

    /** No tags. */
    SondeHooksTag() {
        this(null, -1, null, null);
    }

    private SondeHooksTag(Object[] values, int number, Object value, String trace) {
        this.values = values;
        this.number = number;
        this.value = value;
        this.trace = trace;
    }

    boolean isSet() {
        return values != null || trace != null;
    }

    /** Whether there is anything that labels contain. */
    boolean hasValues() {
        return values != null;
    }

    /** The value of a tag, null if it has none or its value is null. */
    String value(int number) {
        Object value = isKnown(number) ? values[number] : null;
        return value == NULL ? null : (String) value;
    }

    /** Whether a tag was set, also to null. */
    boolean isKnown(int number) {
        return values != null && number >= 0 && number < TAGS_MOST && values[number] != null;
    }

    /** These tags with one more value. */
    SondeHooksTag with(int number, String value) {
        if (number >= TAGS_MOST) {
            return within(value);
        }
        Object wanted = value == null ? NULL : value;
        SondeHooksTag[] cached = children;
        int home = (value == null ? 0 : value.hashCode()) * 0x9E3779B1 >>> 16;
        int free = home & CHILDREN - 1;
        for (int i = 0; cached != null && i < WINDOW; i++) {
            int slot = home + i & CHILDREN - 1;
            SondeHooksTag child = cached[slot];
            if (child == null) {
                free = slot;
                break;
            }
            if (child.number == number && (child.value == wanted || value != null && value.equals(child.value))) {
                return child;
            }
        }
        if (isKnown(number) && wanted.equals(values[number])) {
            return this;
        }
        Object[] all = new Object[TAGS_MOST];
        for (int i = 0; values != null && i < TAGS_MOST; i++) {
            all[i] = values[i];
        }
        all[number] = wanted;
        SondeHooksTag child = new SondeHooksTag(all, number, wanted, trace);
        if (cached == null) {
            cached = new SondeHooksTag[CHILDREN];
            children = cached;
        }
        cached[free] = child;
        return child;
    }

    /** These tags with a trace; null leaves it as it is, as does the same trace without the span that began the work. */
    private SondeHooksTag within(String wanted) {
        return wanted == null || trace != null && trace.startsWith(wanted) ? this : new SondeHooksTag(values, number, value, wanted);
    }

    /** The values of the tags with these numbers, a bit each; others are null; a null value is represented by an object. */
    Object[] only(int numbers) {
        Object[] some = new Object[TAGS_MOST];
        for (int i = 0; values != null && i < TAGS_MOST; i++) {
            some[i] = (numbers & 1 << i) != 0 ? values[i] : null;
        }
        return some;
    }

    /** The cached label of these tags; 0 if it is that of others. */
    int labelOf(int numbers) {
        long noted = labelled;
        return (int) (noted >>> 32) == numbers ? (int) noted : 0;
    }

    void note(int numbers, int label) {
        labelled = (long) numbers << 32 | label;
    }
}
