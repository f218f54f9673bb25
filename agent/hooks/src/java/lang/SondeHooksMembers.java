package java.lang;

import static java.lang.SondeHooks.TID;
import static java.lang.SondeHooks.U;
import static java.lang.SondeHooksPlaces.CONTEXT;
import static java.lang.SondeHooksPlaces.MUTED;
import static java.lang.SondeHooksPlaces.MUTE_ONE;
import static java.lang.SondeHooksPlaces.WORD;
import static sonde.layout.Layout.ARRIVAL_SIZE;
import static sonde.layout.Layout.ARRIVAL_TEXT;

import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import jdk.internal.vm.annotation.DontInline;

/**
 * Reports methods and constructors that a thread inside a context is about to call by reflection or through a method
 * handle to Sonde, each once, and makes the thread wait as a new call does.
 *
 * <p>The thread is muted, so this may call any method. The reported members are remembered while members are followed;
 * this does not prevent the unloading of classes.
 */
final class SondeHooksMembers {
    private static final int TOLD_BITS = 13;
    private static final int TOLD_MASK = (1 << TOLD_BITS) - 1;
    private static final int WINDOW = 8;
    private static final String OWN_PACKAGE = "java.lang.invoke.";
    private static final long METHOD_SLOT = offset("java.lang.reflect.Method", "slot");
    private static final long CONSTRUCTOR_SLOT = offset("java.lang.reflect.Constructor", "slot");
    private static final String MEMBER_NAME = "java.lang.invoke.MemberName";
    private static final long TYPE = offset(MEMBER_NAME, "type");

    /** Threads write to it without synchronisation: an entry is complete or absent. Null while members are not followed. */
    private static volatile SondeHooksTold[] told;

    private SondeHooksMembers() {
    }

    /** Begins to follow members, unless it has begun. */
    static void begin() {
        SondeHooksTold[] table = told;
        if (table == null) {
            table = new SondeHooksTold[TOLD_MASK + 1];
            table[0] = new SondeHooksTold(""); // initialises its class here and not in a hook
            told = table;
        }
    }

    /** Forgets the reported members. */
    static void end() {
        told = null;
    }

    @DontInline
    static void follow(Object member) {
        long tid = U.getLong(Thread.currentThread(), TID);
        int index = SondeHooksPlaces.find(tid);
        long[] places = SondeHooksPlaces.table(index);
        long place = SondeHooksPlaces.offset(index);
        if (index < 0 || places == null || U.getLong(places, place) != tid) {
            return;
        }
        long word = U.getLong(places, place + WORD);
        if ((word & MUTED) != 0 || (word & CONTEXT) == 0) {
            return;
        }
        U.putLong(places, place + WORD, word + MUTE_ONE);
        try {
            tell(places, place, member);
        } catch (Exception | LinkageError | VirtualMachineError contained) {
            // It must not make the program fail.
        } finally {
            U.putLong(places, place + WORD, U.getLong(places, place + WORD) - MUTE_ONE);
        }
    }

    private static void tell(long[] places, long place, Object member) {
        SondeHooksTold[] table = told;
        Class<?> owner = owner(member);
        if (table == null || owner != null && isTold(table, owner, slot(member))) {
            return;
        }
        long start = System.nanoTime();
        SondeHooksAbsence.begin(places, place);
        try {
            tell(places, place, member, table, owner, start);
        } finally {
            SondeHooksAbsence.end(places, place, System.nanoTime() - start);
        }
    }

    private static void tell(long[] places, long place, Object member, SondeHooksTold[] table, Class<?> owner,
            long start) {
        String text = describe(member);
        if (text == null || owner == null && isTold(table, text)) {
            return;
        }
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        int outcome = SondeHooksArrivals.announce(places, place, 0, bytes, start);
        if (outcome == SondeHooksArrivals.LATE) {
            SondeHooksArrivals.miss(places, place, 0, 0);
        }
        if (outcome == SondeHooksArrivals.ANSWERED || bytes.length > ARRIVAL_SIZE - ARRIVAL_TEXT) {
            remember(table, owner == null ? new SondeHooksTold(text) : new SondeHooksTold(owner, slot(member)));
        }
    }

    /** The class in which the slot identifies a member; null if its name is needed. */
    private static Class<?> owner(Object member) {
        boolean hasSlot = member instanceof Method && METHOD_SLOT >= 0 || member instanceof Constructor && CONSTRUCTOR_SLOT >= 0;
        return hasSlot ? ((Member) member).getDeclaringClass() : null;
    }

    /** Methods and constructors of a class are numbered together. */
    static int slot(Object member) {
        return U.getInt(member, member instanceof Method ? METHOD_SLOT : CONSTRUCTOR_SLOT);
    }

    private static boolean isTold(SondeHooksTold[] table, Class<?> owner, int slot) {
        int at = home(SondeHooksTold.hash(owner, slot));
        for (int i = 0; i < WINDOW; i++) {
            SondeHooksTold entry = table[at + i & TOLD_MASK];
            if (entry != null && entry.is(owner, slot)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isTold(SondeHooksTold[] table, String text) {
        int at = home(text.hashCode());
        for (int i = 0; i < WINDOW; i++) {
            SondeHooksTold entry = table[at + i & TOLD_MASK];
            if (entry != null && entry.is(text)) {
                return true;
            }
        }
        return false;
    }

    /**
     * If there is no room, another member is forgotten and will be reported again; so will one of two members that
     * threads write at the same time.
     */
    private static void remember(SondeHooksTold[] table, SondeHooksTold member) {
        int at = home(member.hash);
        int free = at;
        for (int i = 0; i < WINDOW; i++) {
            SondeHooksTold entry = table[at + i & TOLD_MASK];
            if (entry == null || entry.isUnloaded()) {
                free = at + i & TOLD_MASK;
                break;
            }
        }
        table[free] = member;
    }

    private static int home(int hash) {
        return hash * 0x9E3779B1 >>> 32 - TOLD_BITS;
    }

    /** A member as class.name(descriptor), the class with slashes; null if it cannot have its own hook. */
    private static String describe(Object member) {
        if (!(member instanceof Member)) {
            return null;
        }
        Class<?> declaring = ((Member) member).getDeclaringClass();
        String name = declaring == null ? null : declaring.getName();
        if (name == null || name.indexOf('/') >= 0 || name.startsWith(OWN_PACKAGE) || declaring.isArray()) {
            return null; // hidden, or part of the reflection code
        }
        String descriptor = descriptor(member);
        String simple = name((Member) member);
        if (descriptor == null || simple == null) {
            return null;
        }
        return new StringBuilder(name.replace('.', '/')).append('.').append(simple).append(descriptor).toString();
    }

    /** As in class files. */
    static String name(Member member) {
        return member instanceof Constructor ? "<init>" : member.getName();
    }

    static String descriptor(Object member) {
        if (member instanceof Method) {
            return descriptor(((Method) member).getReturnType(), ((Method) member).getParameterTypes());
        }
        if (member instanceof Constructor) {
            return descriptor(void.class, ((Constructor<?>) member).getParameterTypes());
        }
        if (TYPE < 0 || !member.getClass().getName().equals(MEMBER_NAME)) {
            return null;
        }
        Object type = reference(member, TYPE);
        if (type instanceof MethodType) {
            return ((MethodType) type).toMethodDescriptorString();
        }
        if (type instanceof String) {
            return ((String) type).startsWith("(") ? (String) type : null;
        }
        if (type instanceof Object[] && ((Object[]) type).length == 2) {
            return descriptor((Class<?>) ((Object[]) type)[0], (Class<?>[]) ((Object[]) type)[1]);
        }
        return null; // a field's
    }

    private static String descriptor(Class<?> result, Class<?>[] parameters) {
        StringBuilder descriptor = new StringBuilder("(");
        for (Class<?> parameter : parameters) {
            append(descriptor, parameter);
        }
        append(descriptor.append(')'), result);
        return descriptor.toString();
    }

    /** The name of an array's class is its descriptor already, but for the dots. */
    private static void append(StringBuilder descriptor, Class<?> type) {
        if (type.isArray()) {
            descriptor.append(type.getName().replace('.', '/'));
        } else if (!type.isPrimitive()) {
            descriptor.append('L').append(type.getName().replace('.', '/')).append(';');
        } else {
            descriptor.append(primitive(type));
        }
    }

    private static char primitive(Class<?> type) {
        if (type == long.class) {
            return 'J';
        }
        if (type == boolean.class) {
            return 'Z';
        }
        char first = type.getName().charAt(0); // of all others: byte, char, double, float, int, short, void
        return (char) (first - 'a' + 'A');
    }

    /** Before 12 it had another name. */
    static Object reference(Object from, long offset) {
        try {
            return U.getReference(from, offset);
        } catch (NoSuchMethodError before12) {
            return U.getObject(from, offset);
        }
    }

    /** Negative if this JDK has no such field. */
    static long offset(String owner, String field) {
        try {
            return U.objectFieldOffset(Class.forName(owner, false, null), field);
        } catch (ClassNotFoundException | LinkageError | VirtualMachineError none) {
            return -1;
        }
    }
}
