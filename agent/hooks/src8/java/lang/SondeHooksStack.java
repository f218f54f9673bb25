package java.lang;

import static java.lang.SondeHooks.U;

import java.lang.ref.WeakReference;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import java.security.AccessController;
import java.security.PrivilegedAction;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * Walks stacks in Java 8, where it replaces StackWalker. A new Throwable refers to the methods on the stack by their
 * classes and by numbers, which HotSpot also stores in the members that reflection finds:
 *
 * <pre>
 *   backtrace: Object[] {short[] numbers, int[], Object[] classes, ..., Object[] next or null}
 * </pre>
 */
final class SondeHooksStack {
    /** More than hooks look at. */
    private static final int MOST_FRAMES = 128;
    /** It is the first field, and hidden from reflection; the next one is known. */
    private static final long BACKTRACE = offset(Throwable.class, "detailMessage") - U.arrayIndexScale(Object[].class);

    private final ClassMembers members = new ClassMembers();

    private SondeHooksStack() {
    }

    static SondeHooksStack getInstance(Option option) {
        return new SondeHooksStack();
    }

    <T> T walk(Function<? super Stream<StackFrame>, ? extends T> function) {
        StackFrame[] frames = new StackFrame[MOST_FRAMES];
        int count = 0;
        Object[] part = (Object[]) U.getObject(new Throwable(), BACKTRACE);
        while (part != null && count < MOST_FRAMES) {
            short[] numbers = (short[]) part[0];
            Object[] classes = (Object[]) part[2];
            for (int i = 0; i < classes.length && classes[i] != null && count < MOST_FRAMES; i++) {
                if (!isReflection((Class<?>) classes[i])) {
                    frames[count++] = new StackFrame(members, (Class<?>) classes[i], numbers[i] & 0xffff);
                }
            }
            part = (Object[]) part[part.length - 1];
        }
        return function.apply(Arrays.stream(frames, 0, count));
    }

    /** StackWalker skips these frames, too. */
    private static boolean isReflection(Class<?> type) {
        String name = type.getName();
        return type == Method.class || type == Constructor.class || name.startsWith("sun.reflect.") && name.contains("Accessor");
    }

    /** Is {@code Unsafe.objectFieldOffset} of later JDKs. */
    static long offset(Class<?> owner, String field) {
        try {
            return U.objectFieldOffset(owner.getDeclaredField(field));
        } catch (NoSuchFieldException none) {
            throw new InternalError(none);
        }
    }

    /** As for StackWalker; it has no effect. */
    static final class Option {
        static final Option RETAIN_CLASS_REFERENCE = null;

        private Option() {
        }
    }

    /** A method on the stack. */
    static final class StackFrame {
        private final ClassMembers members;
        private final Class<?> declaring;
        private final int number;
        private Member member;
        /** Read by its offset, when the name is known. */
        private int flags;

        StackFrame(ClassMembers members, Class<?> declaring, int number) {
            this.members = members;
            this.declaring = declaring;
            this.number = number;
        }

        Class<?> getDeclaringClass() {
            return declaring;
        }

        String getMethodName() {
            return member().name;
        }

        String getDescriptor() {
            return member().descriptor;
        }

        private Member member() {
            if (member == null) {
                Member[] all = members.of(declaring);
                if (all == null) {
                    throw new NoClassDefFoundError(declaring.getName());
                }
                // Reflection finds all but the class initialiser.
                member = number < all.length && all[number] != null ? all[number] : new Member("<clinit>", "()V", 0);
                flags = member.flags;
            }
            return member;
        }
    }

    /** What hooks need to know of a method. */
    private static final class Member {
        final String name;
        final String descriptor;
        final int flags;

        Member(String name, String descriptor, int flags) {
            this.name = name;
            this.descriptor = descriptor;
            this.flags = flags;
        }
    }

    /**
     * The members of classes. Threads write to it without synchronisation: an entry is complete or absent. It does not
     * keep classes from being unloaded.
     */
    private static final class ClassMembers {
        private static final int MASK = (1 << 12) - 1;
        private static final int WINDOW = 8;

        private final AtomicReferenceArray<Known> table = new AtomicReferenceArray<Known>(MASK + 1);

        /** By number; null if a class that a member refers to cannot be loaded. */
        Member[] of(Class<?> type) {
            int home = System.identityHashCode(type) * 0x9E3779B1 >>> 16;
            int free = home & MASK; // if there is no room, another class is forgotten
            for (int i = WINDOW - 1; i >= 0; i--) {
                Known known = table.get(home + i & MASK);
                Class<?> there = known == null ? null : known.get();
                if (there == type) {
                    return known.members;
                }
                free = there == null ? home + i & MASK : free;
            }
            Member[] members = AccessController.doPrivileged(new Look(type));
            table.set(free, new Known(type, members));
            return members;
        }
    }

    /** A class and its members. */
    private static final class Known extends WeakReference<Class<?>> {
        final Member[] members;

        Known(Class<?> type, Member[] members) {
            super(type);
            this.members = members;
        }
    }

    /** Looks members up, whatever the permissions of the program are. */
    private static final class Look implements PrivilegedAction<Member[]> {
        private final Class<?> type;

        Look(Class<?> type) {
            this.type = type;
        }

        @Override
        public Member[] run() {
            try {
                Executable[] methods = type.getDeclaredMethods();
                Executable[] constructors = type.getDeclaredConstructors();
                return add(add(new Member[methods.length + constructors.length + 1], methods), constructors);
            } catch (LinkageError missing) {
                return null;
            }
        }

        private static Member[] add(Member[] to, Executable[] added) {
            Member[] all = to;
            for (Executable one : added) {
                int number = SondeHooksMembers.slot(one);
                if (number >= all.length) {
                    all = Arrays.copyOf(all, number + 1);
                }
                all[number] = new Member(SondeHooksMembers.name(one), SondeHooksMembers.descriptor(one), one.getModifiers());
            }
            return all;
        }
    }
}
