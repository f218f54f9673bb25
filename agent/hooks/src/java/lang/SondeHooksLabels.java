package java.lang;

import static java.lang.SondeHooks.TID;
import static java.lang.SondeHooks.U;
import static java.lang.SondeHooksPlaces.CONTEXT;
import static java.lang.SondeHooksPlaces.MUTED;
import static java.lang.SondeHooksPlaces.MUTE_ONE;
import static java.lang.SondeHooksPlaces.WORD;
import static sonde.layout.Layout.*;

import java.util.concurrent.atomic.AtomicReferenceArray;
import jdk.internal.vm.annotation.DontInline;

/**
 * Assigns numbers to the labels by which results are grouped: the values of tags, or chains of callers. Labels are found
 * muted and outside busy sections.
 *
 * <p>An instance holds the labels of one arena, numbered by their places in a table. Labels without room in
 * it share one number.
 */
final class SondeHooksLabels {
    private static final int MASK = LABELS_MOST - 1;
    private static final int WINDOW = 64;

    /** Null while no results are grouped. */
    private static volatile SondeHooksLabels current;

    /** A label found the ring full: the agent must report it, because there may be no further call with it. */
    private volatile boolean isBehind;
    /** The ring is not read while the program runs, as with a pack: once it is full, it stays full. */
    private final boolean isAlone;
    /** The ring is full and stays full. From then on, labels that were not reported share one number with those without room. */
    private volatile boolean isFull;
    /** By number, less the first. Entries never change. */
    private final AtomicReferenceArray<SondeHooksLabel> table = new AtomicReferenceArray<SondeHooksLabel>(MASK + 1);

    private SondeHooksLabels(boolean isAlone) {
        this.isAlone = isAlone;
        table.set(LABEL_OTHER - LABELS_FIRST, new SondeHooksLabel(LABEL_OTHER, new Object[0]));
    }

    /** Prepares hooks to assign numbers; the agent uses every needed class once, so that no hook is the first. */
    static void prepare() {
        if (current == null) {
            SondeHooksLabels rehearsed = new SondeHooksLabels(false);
            rehearsed.find(new SondeHooksTag().with(0, "").with(1, null).only(3)).text();
            current = new SondeHooksLabels(U.getInt(null, SondeHooks.base + HEADER_SONDE_PID) == 0);
        }
    }

    /** Forgets the labels: their numbers are not valid in the next arena. */
    static void forget() {
        current = null;
    }

    /** Reports the labels that found the ring full. The agent calls it. */
    static void catchUp() {
        SondeHooksLabels labels = current;
        if (labels == null || !labels.isBehind) {
            return;
        }
        long tid = U.getLong(Thread.currentThread(), TID);
        int index = SondeHooksPlaces.claim(tid);
        long[] places = SondeHooksPlaces.table(index);
        long place = SondeHooksPlaces.offset(index);
        if (index < 0 || places == null || U.getLong(places, place) != tid) {
            return;
        }
        labels.isBehind = false;
        for (int slot = LABEL_OTHER - LABELS_FIRST + 1; slot <= MASK; slot++) {
            SondeHooksLabel label = labels.table.get(slot);
            if (label != null && !label.tell(places, place, false)) {
                labels.isBehind = true;
                return;
            }
        }
    }

    /** Begins a call of a spot whose results are grouped. */
    @DontInline
    static long begin(int id, int setting, long grouping) {
        long tid = U.getLong(Thread.currentThread(), TID);
        int index = SondeHooksPlaces.claim(tid);
        if (index < 0) {
            return (setting & INSIDE) != 0 ? 0 : SondeHooksTree.spill(id);
        }
        long[] places = SondeHooksPlaces.table(index);
        long place = SondeHooksPlaces.offset(index);
        if (places == null || U.getLong(places, place) != tid) {
            return 0; // the arena was retired in the meantime
        }
        long word = U.getLong(places, place + WORD);
        if ((word & MUTED) != 0) {
            return 0;
        }
        if ((setting & INSIDE) != 0 && (word & CONTEXT) == 0) {
            SondeHooksPlaces.giveUpIfEmpty(places, place);
            return 0;
        }
        int most = (int) (grouping >>> 32);
        int label = most != 0 ? ofCallers(places, place, most) : ofTags(places, place, (int) grouping);
        return SondeHooksTransaction.begin(places, place, id, setting, label);
    }

    /** The label of the tags with these numbers, a bit each, of the calling thread, which must not be in a busy section. */
    static int ofTags(long[] places, long place, int numbers) {
        SondeHooksState state = SondeHooksPlaces.state(places, place);
        SondeHooksTag tags = state == null ? null : state.tags;
        int noted = tags == null ? 0 : tags.labelOf(numbers);
        return noted != 0 ? noted : search(places, place, tags, numbers, 0);
    }

    /** Is {@link #ofTags} of all tags; 0 if none is set. */
    static int ofAll(long[] places, long place) {
        SondeHooksState state = SondeHooksPlaces.state(places, place);
        return state == null || !state.tags.hasValues() ? 0 : ofTags(places, place, (1 << TAGS_MOST) - 1);
    }

    @DontInline
    private static int ofCallers(long[] places, long place, int most) {
        long start = System.nanoTime();
        SondeHooksAbsence.begin(places, place);
        try {
            return search(places, place, null, 0, most);
        } finally {
            SondeHooksAbsence.end(places, place, System.nanoTime() - start);
        }
    }

    @DontInline
    private static int search(long[] places, long place, SondeHooksTag tags, int numbers, int most) {
        SondeHooksLabels labels = current;
        U.putLong(places, place + WORD, U.getLong(places, place + WORD) + MUTE_ONE);
        try {
            Object[] parts = most != 0 ? SondeHooksDirect.row(most) : tags == null ? new Object[TAGS_MOST] : tags.only(numbers);
            SondeHooksLabel label = labels == null || parts == null ? null : labels.find(parts);
            boolean isTold = label != null && labels.tell(label, places, place);
            int number = label == null || label.isLost() ? LABEL_OTHER : label.number;
            // If there is no room now, there is none later: this is remembered, too.
            if (tags != null && (isTold || labels != null && number == LABEL_OTHER)) {
                tags.note(numbers, number);
            }
            return number;
        } catch (Exception | LinkageError | VirtualMachineError contained) {
            return LABEL_OTHER; // it must not make the program fail
        } finally {
            U.putLong(places, place + WORD, U.getLong(places, place + WORD) - MUTE_ONE);
        }
    }

    /** Whether a label is reported now, or was before. */
    private boolean tell(SondeHooksLabel label, long[] places, long place) {
        boolean isTold = label.tell(places, place, isAlone);
        if (label.isLost()) {
            isFull = true;
        } else if (!isTold && !isAlone) {
            isBehind = true;
        }
        return isTold;
    }

    /** The label of some parts, created if the combination is new; null if there is no room. */
    private SondeHooksLabel find(Object[] parts) {
        int home = SondeHooksLabel.hash(parts) * 0x9E3779B1 >>> 16;
        for (int i = 0; i < WINDOW; i++) {
            int slot = home + i & MASK;
            SondeHooksLabel label = table.get(slot);
            if (label == null && isFull) {
                return null;
            }
            if (label == null) {
                SondeHooksLabel made = new SondeHooksLabel(LABELS_FIRST + slot, parts);
                if (table.compareAndSet(slot, null, made)) {
                    return made;
                }
                label = table.get(slot); // another thread has added it
            }
            if (label.is(parts)) {
                return label;
            }
        }
        return null;
    }
}
