package java.lang;

import static java.lang.SondeHooks.U;

import java.lang.reflect.Executable;
import java.security.AccessController;
import java.security.PrivilegedAction;
import java.util.Arrays;
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
                frames[count++] = new StackFrame(members, (Class<?>) classes[i], numbers[i] & 0xffff);
            }
            part = (Object[]) part[part.length - 1];
        }
        return function.apply(Arrays.stream(frames, 0, count));
    }

    /** Is {@code Unsafe.objectFieldOffset} of later JDKs. */
    static long offset(Class<?> owner, String field) {
        try {
            return U.objectFieldOffset(owner.getDeclaredField(field));
        } catch (NoSuchFieldException none) {
            throw new InternalError(none);
        }
    }

    /** As for StackWalker. */
    enum Option {
        RETAIN_CLASS_REFERENCE
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
                Member[] all = members.get(declaring);
                if (all == null) {
                    throw new NoClassDefFoundError(declaring.getName());
                }
                // Reflection finds all but the class initialiser.
                member = number < all.length && all[number] != null ? all[number] : Member.INITIALISER;
                flags = member.flags;
            }
            return member;
        }
    }

    /** What hooks need to know of a method. */
    private static final class Member {
        static final Member INITIALISER = new Member("<clinit>", "()V", 0);

        final String name;
        final String descriptor;
        final int flags;

        Member(String name, String descriptor, int flags) {
            this.name = name;
            this.descriptor = descriptor;
            this.flags = flags;
        }
    }

    /** The methods and constructors of classes, by number; null if the class of a parameter or result cannot be loaded. */
    private static final class ClassMembers extends ClassValue<Member[]> {
        @Override
        protected Member[] computeValue(final Class<?> type) {
            // The program's own permissions do not matter.
            return AccessController.doPrivileged(new PrivilegedAction<Member[]>() {
                @Override
                public Member[] run() {
                    try {
                        Executable[] methods = type.getDeclaredMethods();
                        Executable[] constructors = type.getDeclaredConstructors();
                        Member[] all = new Member[methods.length + constructors.length + 1];
                        return add(add(all, methods), constructors);
                    } catch (LinkageError missing) {
                        return null;
                    }
                }
            });
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
