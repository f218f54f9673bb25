import java.util.Arrays;
import java.util.Map;
import java.util.function.UnaryOperator;

/**
 * Proves that woven classes are real: the JDK's private copy of ASM is woven whole, loaded next to
 * the original, and made to copy a class. The copy must come out the same, and every entry must
 * have been left.
 */
final class Proof extends ClassLoader {
    private static final String PREFIX = "jdk/internal/org/objectweb/asm/";

    private final Map<String, byte[]> classes;
    private final UnaryOperator<byte[]> weave;
    private int woven;

    private Proof(Map<String, byte[]> classes, UnaryOperator<byte[]> weave) {
        super(Proof.class.getClassLoader());
        this.classes = classes;
        this.weave = weave;
    }

    static String of(Map<String, byte[]> classes, UnaryOperator<byte[]> weave) throws ReflectiveOperationException {
        byte[] subject = classes.get("java/util/HashMap");
        byte[] plain = new Proof(classes, UnaryOperator.identity()).copy(subject);
        long entered = Hooks.entered;
        long left = Hooks.left;
        Proof proof = new Proof(classes, weave);
        byte[] copy = proof.copy(subject);
        entered = Hooks.entered - entered;
        left = Hooks.left - left;
        if (!Arrays.equals(plain, copy)) {
            throw new IllegalStateException("the woven program gives another result");
        }
        if (entered == 0 || entered != left) {
            throw new IllegalStateException(entered + " entries, " + left + " exits");
        }
        return "loaded=" + proof.woven + " entered=" + entered + " left=" + left;
    }

    private byte[] copy(byte[] subject) throws ReflectiveOperationException {
        Class<?> reader = loadClass("jdk.internal.org.objectweb.asm.ClassReader");
        Class<?> writer = loadClass("jdk.internal.org.objectweb.asm.ClassWriter");
        Class<?> visitor = loadClass("jdk.internal.org.objectweb.asm.ClassVisitor");
        Object r = reader.getConstructor(byte[].class).newInstance((Object) subject);
        Object w = writer.getConstructor(int.class).newInstance(1); // COMPUTE_MAXS
        reader.getMethod("accept", visitor, int.class).invoke(r, w, 0);
        return (byte[]) writer.getMethod("toByteArray").invoke(w);
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        String internal = name.replace('.', '/');
        if (!internal.startsWith(PREFIX)) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            if (loaded == null) {
                byte[] data = weave.apply(classes.get(internal));
                woven++;
                loaded = defineClass(name, data, 0, data.length);
            }
            return loaded;
        }
    }
}
