package java.lang;

import static java.lang.SondeHooks.U;
import static sonde.layout.Layout.ARRIVAL_SIZE;
import static sonde.layout.Layout.ARRIVAL_TEXT;

/** A label by which results are grouped, with its number: the values of tags, by their numbers, or a chain of callers. */
final class SondeHooksLabel {
    /** Begins the text of values, and of callers. */
    private static final char TAGS = 'T';
    private static final char CALLERS = 'C';

    private static final int UNTOLD = 0;
    private static final int BEING_TOLD = 1;
    private static final int TOLD = 2;
    private static final int LOST = 3;
    private static final int MOST_TEXT = ARRIVAL_SIZE - ARRIVAL_TEXT;
    /** The characters of a value besides its text: its number and separators. */
    private static final int PART_EXTRA = 8;
    private static final long STATE = U.objectFieldOffset(SondeHooksLabel.class, "state");

    final int number;
    private final Object[] parts;
    private volatile int state;

    SondeHooksLabel(int number, Object[] parts) {
        this.number = number;
        this.parts = parts;
    }

    static int hash(Object[] parts) {
        int hash = parts.length;
        for (Object part : parts) {
            hash = 31 * hash + (part == null ? 0 : part.hashCode());
        }
        return hash;
    }

    boolean is(Object[] wanted) {
        boolean isSame = wanted.length == parts.length;
        for (int i = 0; isSame && i < parts.length; i++) {
            isSame = parts[i] == wanted[i] || parts[i] != null && parts[i].equals(wanted[i]);
        }
        return isSame;
    }

    /**
     * Reports the number to Sonde, once; returns whether that is done. If there is no room, the next call tries again,
     * unless there is only one try.
     */
    boolean tell(long[] places, long place, boolean onlyOnce) {
        if (state == UNTOLD && U.compareAndSetInt(this, STATE, UNTOLD, BEING_TOLD)) {
            int outcome = UNTOLD;
            try {
                outcome = SondeHooksArrivals.tell(places, place, number, text()) ? TOLD : onlyOnce ? LOST : UNTOLD;
            } finally {
                state = outcome;
            }
        }
        return state == TOLD;
    }

    /** Whether it will never be reported. */
    boolean isLost() {
        return state == LOST;
    }

    /** Callers, or number=value for each tag that is set, only the number if its value is null; a line each. */
    byte[] text() {
        boolean areCallers = parts instanceof SondeHooksCaller[];
        StringBuilder text = new StringBuilder().append(areCallers ? CALLERS : TAGS);
        String between = "";
        int most = areCallers ? 0 : mostOf(parts);
        for (int i = 0; i < parts.length; i++) {
            if (parts[i] == null) {
                continue;
            }
            text.append(between);
            between = "\n";
            if (areCallers) {
                ((SondeHooksCaller) parts[i]).append(text);
            } else {
                append(text.append(i), parts[i], most);
            }
        }
        return SondeHooksCaller.cut(text);
    }

    /** The maximum length of a value, so that all have room: shorter ones leave theirs to the others. */
    private static int mostOf(Object[] parts) {
        int most = 0;
        for (int pass = 0; pass < parts.length; pass++) {
            int room = MOST_TEXT - 8;
            int longer = 0;
            for (Object part : parts) {
                int length = part == null ? 0 : PART_EXTRA + (part instanceof String ? ((String) part).length() : 0);
                if (length <= most) {
                    room -= length;
                } else {
                    longer++;
                }
            }
            if (longer == 0 || room / longer <= most) {
                break;
            }
            most = room / longer;
        }
        return most;
    }

    private static void append(StringBuilder text, Object value, int most) {
        if (!(value instanceof String)) {
            return;
        }
        String whole = ((String) value).replace('\n', ' ');
        int length = whole.length() + PART_EXTRA <= most ? whole.length() : most - PART_EXTRA;
        if (length < whole.length() && Character.isHighSurrogate(whole.charAt(length - 1))) {
            length--;
        }
        text.append('=').append(whole, 0, length);
    }
}
