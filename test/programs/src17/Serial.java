import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.ObjectStreamClass;
import java.io.Serializable;
import java.util.List;
import java.util.function.Supplier;

/** Serialization: computed serial version ids depend on members, so none may come or go; readObject and its like run. */
public final class Serial {
    static class Implicit implements Serializable {
        int number = 4;
        transient String derived = "derived";
        private static final Object STATIC = new Object();

        int number() {
            return STATIC == null ? 0 : number;
        }

        private void writeObject(ObjectOutputStream out) throws IOException {
            out.defaultWriteObject();
            out.writeUTF("extra" + number());
        }

        private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
            in.defaultReadObject();
            derived = in.readUTF();
        }
    }

    static final class Replaced implements Serializable {
        private static final long serialVersionUID = 42;

        Object writeReplace() {
            return new Implicit();
        }
    }

    enum Kind { ONE, TWO }

    record Pair(Kind kind, List<Integer> numbers) implements Serializable {
    }

    interface SerializableSupplier<T> extends Supplier<T>, Serializable {
    }

    public static void main(String[] args) throws Exception {
        for (Class<?> type : new Class<?>[] {Implicit.class, Replaced.class, Kind.class, Pair.class}) {
            System.out.println(type.getSimpleName() + " " + ObjectStreamClass.lookup(type).getSerialVersionUID());
        }
        Implicit implicit = (Implicit) copy(new Implicit());
        System.out.println(implicit.number + " " + implicit.derived);
        System.out.println(((Implicit) copy(new Replaced())).derived);
        System.out.println(copy(new Pair(Kind.TWO, List.of(1, 2))) + " " + (copy(Kind.ONE) == Kind.ONE));
        String captured = "captured";
        SerializableSupplier<String> lambda = () -> captured + "!";
        System.out.println(((Supplier<?>) copy(lambda)).get());
    }

    static Object copy(Object object) throws IOException, ClassNotFoundException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(object);
        }
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            return in.readObject();
        }
    }
}
