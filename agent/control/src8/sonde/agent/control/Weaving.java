package sonde.agent.control;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Asks Sonde for the bytes of classes, on the thread that loads or retransforms a class. Waits are bounded, and nothing is
 * thrown: without an answer a class stays as it is.
 */
final class Weaving implements ClassFileTransformer, Weaves {
    private static final long PATIENCE_MILLIS = 2000;
    private static final String UNANSWERED = " was left alone: Sonde did not answer within two seconds";

    private final Classes classes;
    private final Replies replies;
    private final Outgoing outgoing;
    private final Lease lease;
    private final Arena arena;
    private final HookClasses hookClasses;
    /** Which loaders see the hooks, by their numbers. */
    private final Map<Integer, Boolean> sight = new HashMap<Integer, Boolean>();
    final WovenClasses woven;
    private volatile Watch watch = Watch.NOTHING;
    private volatile boolean restoring;
    /** The threads that receive the answers, and so cannot wait for one. */
    private volatile Thread reader;
    private volatile Thread writer;
    private boolean registered;
    /** When Sonde did not answer in time and has been silent since; otherwise 0. */
    private volatile long silentSince;

    Weaving(Classes classes, Replies replies, Outgoing outgoing, Lease lease, Arena arena, HookClasses hookClasses) {
        this.classes = classes;
        this.replies = replies;
        this.outgoing = outgoing;
        this.lease = lease;
        this.arena = arena;
        this.hookClasses = hookClasses;
        this.woven = new WovenClasses(classes.loaders);
    }

    void cannotWait(Thread readerThread, Thread writerThread) {
        reader = readerThread;
        writer = writerThread;
    }

    /** Stays registered while there are hooks: otherwise a retransformation by another agent would remove them. */
    void register(Instrumentation instrumentation) {
        restoring = false;
        if (!registered) {
            instrumentation.addTransformer(this, true);
            registered = true;
        }
    }

    boolean isRegistered() {
        return registered;
    }

    void watch(Watch wanted) {
        watch = wanted;
    }

    /** Without asking. */
    @Override
    public void beginRestoring() {
        watch = Watch.NOTHING;
        restoring = true;
        woven.nextGeneration();
        replies.wake();
    }

    @Override
    public int recognise(Class<?>[] loaded) {
        return woven.recognise(loaded);
    }

    @Override
    public List<Class<?>> alive() {
        return woven.alive();
    }

    @Override
    public void unregister(Instrumentation instrumentation) {
        if (registered) {
            instrumentation.removeTransformer(this);
            registered = false;
        }
        woven.clear();
    }

    /** Calls that are made here on threads of the program are not measured. */
    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        Hooks hooks = arena.hooks();
        if (hooks != null) {
            hooks.mute();
        }
        try {
            return decide(hooks, loader, name, redefined, bytes);
        } catch (Throwable contained) {
            return null;
        } finally {
            if (hooks != null && arena.hooks() == hooks) { // the thread is not muted in a later arena
                hooks.unmute();
            }
        }
    }

    private byte[] decide(Hooks hooks, ClassLoader loader, String name, Class<?> redefined, byte[] bytes) throws Exception {
        if (name == null || redefined == null && !watch.matches(name) || Classes.isOurs(loader, name)) {
            return null; // a hidden class, or none of interest
        }
        if (redefined != null && !woven.wants(loader, name)) {
            return null;
        }
        if (restoring) {
            return redefined == null ? null : woven.original(loader, name);
        }
        Thread current = Thread.currentThread();
        if (hooks == null) {
            return null; // hooks that cannot be called are not woven
        }
        if (current == reader || current == writer) {
            notice(name + " was left alone: it was loaded by the agent's own thread, which cannot wait for Sonde");
            return null;
        }
        if (redefined == null && !sees(loader)) {
            notice(name + " was left alone: its class loader cannot find Sonde's hook classes");
            return null;
        }
        return ask(loader, name, redefined, bytes);
    }

    /** Asks a loader, which is loading a class on this thread, once whether it sees the hooks. */
    private boolean sees(ClassLoader loader) throws Exception {
        Integer number = classes.loaders.of(loader);
        synchronized (sight) {
            Boolean known = sight.get(number);
            if (known != null) {
                return known;
            }
        }
        boolean sees = LoaderQuestions.sees(loader, hookClasses.need()).isEmpty();
        synchronized (sight) {
            sight.put(number, sees);
        }
        return sees;
    }

    /** Whether Sonde is stopped or too slow: this delays a program once, not at each class it loads. */
    private boolean isSilent() {
        long since = silentSince;
        return since != 0 && !lease.heardSince(since);
    }

    private byte[] ask(ClassLoader loader, String name, Class<?> redefined, byte[] bytes) throws BadFrame {
        if (redefined == null && isSilent()) {
            notice(name + UNANSWERED);
            return null;
        }
        final int generation = woven.generation();
        int request = replies.open();
        Frame question = new Frame(Kind.TRANSFORM, request)
                .u32(classes.handles.of(redefined)).u32(classes.loaders.of(loader)).string(name).bytes(bytes);
        if (!outgoing.offer(question)) {
            replies.close(request);
            notice(name + " was left alone: too many classes are waiting for Sonde");
            return null;
        }
        Deadline deadline = new Deadline(PATIENCE_MILLIS);
        Received reply = replies.await(request, deadline, new Replies.Wanted() {
            @Override
            public boolean still() {
                return !restoring && !lease.over() && woven.generation() == generation;
            }
        });
        if (reply == null && deadline.over()) {
            silentSince = System.nanoTime() | 1;
            notice(name + UNANSWERED);
        }
        if (reply == null) {
            return null;
        }
        byte[] changed;
        byte[] original;
        try {
            if (reply.kind != Kind.WOVEN) {
                String reason = reply.string();
                reply.end();
                notice(name + " was left alone: " + reason);
                return null;
            }
            changed = reply.bytes();
            original = reply.bytes();
            reply.end();
        } catch (BadFrame bad) {
            lease.end(); // as for any invalid frame; the work thread then restores everything
            throw bad;
        }
        if (redefined != null && (changed.length == 0 || Arrays.equals(changed, original))) {
            woven.bare(loader, name); // it has no hooks, once the JVM has accepted this
            return changed.length == 0 ? null : changed;
        }
        if (changed.length == 0) {
            return null;
        }
        return woven.woven(generation, loader, name, redefined, original.length == 0 ? null : original) ? changed : null;
    }

    private void notice(String text) {
        outgoing.offer(Frame.text(Kind.NOTICE, 0, text));
    }
}
