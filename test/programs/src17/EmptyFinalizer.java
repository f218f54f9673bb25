import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;

/**
 * An empty finalize() tells the JVM that there is nothing to finalise, and the object is gone after one
 * collection. Were the method to grow a body, the object would outlive it to be finalised.
 */
public final class EmptyFinalizer {
    static class Empty {
        @Override
        @SuppressWarnings({"deprecation", "removal"})
        protected void finalize() {
        }
    }

    static final class Inheriting extends Empty {
        int used = 3;
    }

    public static void main(String[] args) {
        ReferenceQueue<Object> queue = new ReferenceQueue<>();
        PhantomReference<Object> empty = emptyOne(queue);
        PhantomReference<Object> inheriting = inheritingOne(queue);
        System.gc();
        System.out.println("gone after one collection: " + empty.refersTo(null) + " " + inheriting.refersTo(null));
    }

    static PhantomReference<Object> emptyOne(ReferenceQueue<Object> queue) {
        return new PhantomReference<>(new Empty(), queue);
    }

    static PhantomReference<Object> inheritingOne(ReferenceQueue<Object> queue) {
        return new PhantomReference<>(new Inheriting(), queue);
    }
}
