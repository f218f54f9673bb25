package java.lang;

import static java.lang.SondeHooks.TID;
import static java.lang.SondeHooks.U;
import static java.lang.SondeHooksPlaces.FIRST_BITS;
import static java.lang.SondeHooksPlaces.MUTED;
import static sonde.layout.Layout.TAGS_MOST;

import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * Called by methods at which a tag of the transaction gets a value, and by conditions that read one. The values are on
 * the heap; setting the same value again does not allocate.
 */
public final class SondeHooksTags {
    /** The maximum length of a value: it outlives the call, and a program may have large values. */
    private static final int MOST_CHARS = 512;

    private SondeHooksTags() {
    }

    /** Lets the agent initialise the class, so that no hook does. */
    static void prepare() {
    }

    /**
     * Enters a tag point; returns the argument for {@link #tag} and {@link #untag}, 0 if there is nothing to do. The
     * thread is muted until {@link #tag}: the expression may call methods with hooks.
     */
    @ForceInline
    public static long tagging(int id) {
        long[] table = SondeHooksWatch.watches;
        return SondeHooksWatch.entry(table, id) < 0 ? 0 : mute();
    }

    @DontInline
    private static long mute() {
        long mark = SondeHooksWatch.mute();
        if (mark == 0) {
            SondeHooksPath.lose();
        } else if ((mark & MUTED >>> 32) != 0) {
            SondeHooksWatch.unmute(mark); // a muted thread has no transaction
            return 0;
        }
        return mark;
    }

    /** Sets the value of the tag; returns the argument that {@link #untag} needs to undo it. */
    @DontInline
    public static Object tag(long mark, int id, String value) {
        Object outer = null;
        try {
            outer = set(mark, id, value);
        } catch (Exception | LinkageError | VirtualMachineError contained) {
            SondeHooksPath.lose(); // there is not enough memory or stack
        } finally {
            SondeHooksWatch.unmute(mark);
        }
        return outer;
    }

    private static Object set(long mark, int id, String value) {
        long[] places = SondeHooksWatch.places(mark);
        long place = SondeHooksPlaces.offset(SondeHooksWatch.index(mark));
        long[] table = SondeHooksWatch.watches;
        int at = SondeHooksWatch.entry(table, id);
        if (places == null || at < 0 || !SondeHooksPlaces.isOwner(places, place)) {
            return null;
        }
        int number = (int) table[at + 1] & 2 * TAGS_MOST - 1; // TAG_TRACE is beyond the others
        SondeHooksState state = SondeHooksPlaces.needState(places, place);
        if (state == null) {
            return null;
        }
        SondeHooksTag outer = state.tags;
        state.tags = outer.with(number, value == null || value.length() <= MOST_CHARS ? value : value.substring(0, MOST_CHARS));
        return outer;
    }

    /** Restores the tags. */
    @ForceInline
    public static void untag(long mark, Object outer) {
        if (mark != 0) {
            leave(mark, outer);
        }
    }

    @DontInline
    private static void leave(long mark, Object outer) {
        long[] places = SondeHooksWatch.places(mark);
        long place = SondeHooksPlaces.offset(SondeHooksWatch.index(mark));
        if (places == null || !SondeHooksPlaces.isOwner(places, place)) {
            return;
        }
        SondeHooksState state = SondeHooksPlaces.state(places, place);
        if (state != null && outer != null) {
            state.tags = (SondeHooksTag) outer;
        }
        SondeHooksWatch.unmute(mark); // also gives up the place if it is not needed
    }

    /** The text of a statement without literals. */
    public static String sql(String text) {
        return SondeHooksTexts.statement(text);
    }

    /** A path without query, in which parts that identify something are replaced. */
    public static String path(String text) {
        return SondeHooksTexts.path(text);
    }

    /** A name, such as that of a host. */
    public static String name(String text) {
        return SondeHooksTexts.name(text);
    }

    /** The ids of a W3C traceparent, or that of a trace alone. */
    public static String trace(String text) {
        return SondeHooksTexts.trace(text);
    }

    /** The W3C traceparent of a request that the calling thread is about to send; null if it is in no transaction. */
    public static String parent() {
        return SondeHooksParent.next();
    }

    /** Remembers the value of a tag for the methods of an object. */
    @DontInline
    public static void keep(Object object, String value) {
        SondeHooksTexts.keepFor(object, value);
    }

    /** The value that was remembered for an object, null if there is none. */
    public static String kept(Object object) {
        return SondeHooksTexts.keyOf(object);
    }

    /** The current value of a tag in the calling thread; null if it has none or its value is null. */
    public static String tagged(int number) {
        long tid = U.getLong(Thread.currentThread(), TID);
        long[] places = SondeHooksPlaces.first;
        long place = SondeHooksPlaces.home(tid, FIRST_BITS);
        if (places == null || U.getLong(places, place) != tid) {
            int index = SondeHooksPlaces.find(tid);
            places = SondeHooksPlaces.table(index);
            place = SondeHooksPlaces.offset(index);
            if (index < 0 || places == null || U.getLong(places, place) != tid) {
                SondeHooksTag handed = SondeHooksHandOff.tagsOf(Thread.currentThread());
                return handed == null ? null : handed.value(number);
            }
        }
        SondeHooksState state = SondeHooksPlaces.state(places, place);
        return state == null ? null : state.tags.value(number);
    }
}
