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

    private final Object[] values;
    /** The trace of others that the work belongs to; null if it is unknown. It is different in each request, so it is in no label. */
    final String trace;
    /** By the hash of the value; null until there is one. */
    private SondeHooksTag[] children;
    /** The label of some of the tags, which are in the upper half; 0 if none is known yet. */
    private long labelled;

    /** No tags. */
    SondeHooksTag() {
        this(null, null);
    }

    private SondeHooksTag(Object[] values, String trace) {
        this.values = values;
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
        if (isSame(number, value)) {
            return this;
        }
        SondeHooksTag[] cached = children;
        int slot = value == null ? 0 : value.hashCode() * 0x9E3779B1 >>> 16 & CHILDREN - 1;
        SondeHooksTag child = cached == null ? null : cached[slot];
        if (child != null && child.isSame(number, value)) { // as this is not, it was made for that value
            return child;
        }
        Object[] all = new Object[TAGS_MOST];
        for (int i = 0; values != null && i < TAGS_MOST; i++) {
            all[i] = values[i];
        }
        all[number] = value == null ? NULL : value;
        child = new SondeHooksTag(all, trace);
        if (cached == null) {
            cached = new SondeHooksTag[CHILDREN];
            children = cached;
        }
        cached[slot] = child;
        return child;
    }

    /** These tags with a trace; null leaves it as it is, as does the same trace without the span that began the work. */
    private SondeHooksTag within(String wanted) {
        return wanted == null || trace != null && trace.startsWith(wanted) ? this : new SondeHooksTag(values, wanted);
    }

    /** The values of the tags with these numbers, a bit each; others are null; a null value is represented by an object. */
    Object[] only(int numbers) {
        Object[] some = new Object[TAGS_MOST];
        for (int i = 0; values != null && i < TAGS_MOST; i++) {
            some[i] = (numbers & 1 << i) != 0 ? values[i] : null;
        }
        return some;
    }

    private boolean isSame(int number, String value) {
        if (!isKnown(number)) {
            return false;
        }
        Object here = values[number];
        return value == null ? here == NULL : here == value || value.equals(here);
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
