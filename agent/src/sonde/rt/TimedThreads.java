package sonde.rt;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;

/**
 * The tables of all threads.
 *
 * <p>A thread reaches its table through a thread-local {@link Owner}, which nothing else holds: when the thread
 * ends, or its thread-locals are erased, the owner becomes unreachable, the collector reports it, and the
 * next thread to register adds the table to {@link #ENDED} and forgets it. So however many threads come and
 * go, the tables kept are those of living threads and of the few that ended since the last collection.
 */
final class TimedThreads {
    static final ReferenceQueue<Owner> UNREACHABLE = new ReferenceQueue<Owner>();
    private static final OfThread CURRENT = new OfThread();

    /** Guards the list and {@link #ENDED}. Held briefly; no code of the program runs under it. */
    private static final Object LOCK = new Object();

    /** Head of the doubly linked list of registered tables. */
    static Registration first;

    /** The sums of threads that have ended. */
    private static final TimedTable ENDED = new TimedTable();

    private TimedThreads() {
    }

    /** Returns the calling thread's table. */
    static TimedTable current() {
        return CURRENT.get().table;
    }

    /** Returns the sums over all threads, ended or running, as they stand now. */
    static TimedTable total() {
        TimedTable sum = new TimedTable();
        long now = Timed.now();
        synchronized (LOCK) {
            sum.merge(ENDED, now);
            for (Registration each = first; each != null; each = each.next) {
                sum.merge(each.table, now);
            }
        }
        return sum;
    }

    static Owner register() {
        Owner owner = new Owner(new TimedTable());
        synchronized (LOCK) {
            retireUnreachable();
            Registration registration = new Registration(owner);
            registration.next = first;
            if (first != null) {
                first.previous = registration;
            }
            first = registration;
        }
        return owner;
    }

    private static void retireUnreachable() {
        for (Reference<?> gone = UNREACHABLE.poll(); gone != null; gone = UNREACHABLE.poll()) {
            Registration registration = (Registration) gone;
            ENDED.merge(registration.table, 0);
            registration.unlink();
        }
    }

    /** Keeps a table reachable while a thread uses it; when it is collected, no thread does. */
    static final class Owner {
        final TimedTable table;

        Owner(TimedTable table) {
            this.table = table;
        }
    }

    static final class Registration extends WeakReference<Owner> {
        final TimedTable table;
        Registration previous;
        Registration next;

        Registration(Owner owner) {
            super(owner, UNREACHABLE);
            table = owner.table;
        }

        void unlink() {
            if (previous == null) {
                first = next;
            } else {
                previous.next = next;
            }
            if (next != null) {
                next.previous = previous;
            }
        }
    }

    static final class OfThread extends ThreadLocal<Owner> {
        OfThread() {
        }

        @Override
        protected Owner initialValue() {
            return register();
        }
    }
}
