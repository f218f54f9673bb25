package sonde.agent.control;

import java.io.File;
import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.util.Properties;

/**
 * One Sonde's time in this JVM. Three threads share it: one reads and never waits for anything else, one
 * writes, one works through the commands in turn and is the one that ends it.
 */
final class Session {
    static final int PROTOCOL = 1;
    private static final long WRITE_LOOK_MILLIS = 500;
    private static final long WORK_LOOK_MILLIS = 500;
    private static final long PARTING_MILLIS = 2000;

    private final Tenure tenure;
    private final Line line;
    private final String token;
    private final String proof;
    private final Build build;
    private final Threads threads = Threads.best();
    private final Lease lease = new Lease();
    private final Arena arena;
    private final Outgoing outgoing = new Outgoing();
    private final Replies replies = new Replies();
    private final Inbox inbox = new Inbox();
    private final Weaving weaving;
    private final Commands commands;
    /** Set when the last frame is on its way: what still comes is read, and not obeyed. */
    private volatile boolean parting;
    private boolean heardTheEnd;

    Session(Instrumentation instrumentation, Properties properties, Tenure tenure, Build build) throws Exception {
        this.tenure = tenure;
        this.build = build;
        this.token = properties.getProperty("token", "");
        this.proof = properties.getProperty("proof", "");
        Classes classes = new Classes(instrumentation);
        File folder = new File(properties.getProperty("jar")).getParentFile();
        HookClasses hookClasses = new HookClasses(build, instrumentation, folder);
        arena = new Arena(hookClasses);
        arena.muteInAny();
        weaving = new Weaving(classes, replies, outgoing, lease, arena, hookClasses);
        commands = new Commands(instrumentation, classes, weaving, hookClasses, arena, new Aside(threads, arena), outgoing, lease,
                tenure);
        line = Lines.dial(properties);
    }

    /** Starts the threads, the reader last: who claims the JVM must be sure of the one that releases it. */
    void start() {
        try {
            outgoing.add(new Frame(Kind.HELLO, 0).u16(PROTOCOL).string(token).string(build.id)
                    .string(System.getProperty("java.version", "")).string(build.hookClasses[0]));
            Thread writer = threads.start(new Runnable() {
                @Override
                public void run() {
                    write();
                }
            }, "sonde-write");
            threads.start(new Runnable() {
                @Override
                public void run() {
                    work();
                }
            }, "sonde-work");
            Thread reader = threads.start(new Runnable() {
                @Override
                public void run() {
                    read();
                }
            }, "sonde-read");
            weaving.cannotWait(reader, writer);
        } catch (Throwable broken) {
            lease.end();
            inbox.wake();
            letGo();
        }
    }

    private void read() {
        try {
            Arena.Muting muting = arena.new Muting();
            FrameReader frames = new FrameReader(line);
            meet(frames.next(FrameReader.MOST_BEFORE_PROOF));
            while (!lease.over()) {
                Received frame = frames.next(FrameReader.MOST);
                muting.renew();
                if (!parting) {
                    lease.renew();
                    dispatch(frame);
                }
            }
        } catch (Throwable ended) {
            // The end of the line, or what should not come over it: either ends the session.
            lease.end();
        }
        synchronized (this) {
            heardTheEnd = true;
            notifyAll();
        }
        inbox.wake();
        replies.wake();
    }

    /** Nothing is done in the JVM before the other side has shown that it wrote the session's file. */
    private void meet(Received welcome) throws BadFrame {
        if (welcome.kind != Kind.WELCOME || !same(welcome.string(), proof)) {
            throw new BadFrame("it is no welcome");
        }
        long leaseMillis = welcome.u32() & 0xffffffffL;
        welcome.end();
        String holder = tenure.claim();
        if (holder != null) {
            outgoing.add(Frame.text(Kind.REFUSED, 0, holder));
            parting = true;
            inbox.wake();
            return;
        }
        lease.renew();
        lease.length(leaseMillis);
    }

    private void dispatch(Received frame) throws BadFrame {
        switch (frame.kind) {
            case Kind.WOVEN:
            case Kind.FAILED:
                replies.deliver(frame);
                break;
            case Kind.PING:
                // Answered here: it asks whether the agent is there, not whether the work is done.
                frame.end();
                outgoing.add(new Frame(Kind.DONE, frame.request));
                break;
            case Kind.PROBES:
            case Kind.SWITCH:
            case Kind.WATCHES:
                // Not in turn: a thread of the program that loads a class may wait for its hooks to go on.
                commands.execute(frame);
                break;
            case Kind.REFUSED:
                throw new BadFrame("it came after a welcome");
            default:
                inbox.put(frame);
        }
    }

    private void write() {
        try {
            Arena.Muting muting = arena.new Muting();
            while (!lease.over()) {
                byte[] next = outgoing.take(new Deadline(WRITE_LOOK_MILLIS));
                if (next != null) {
                    muting.renew();
                    line.write(next);
                }
            }
        } catch (Throwable ended) {
            lease.end();
            inbox.wake();
        }
    }

    private void work() {
        try {
            Arena.Muting muting = arena.new Muting();
            while (!parting && !lease.over()) {
                Received command = inbox.take(new Deadline(WORK_LOOK_MILLIS));
                muting.renew();
                boolean last = command != null && commands.execute(command);
                muting.renew();
                if (last || commands.tend()) {
                    parting = true;
                }
            }
            if (parting) {
                part();
            }
        } catch (Throwable broken) {
            lease.end();
        }
        lease.end();
        commands.restoreAlone();
        end();
    }

    /** Has the last frame arrive: waits until the other side has hung up too, as long as it is worth it. */
    private void part() throws IOException {
        outgoing.drain(new Deadline(PARTING_MILLIS), lease);
        line.endOutput();
        Deadline deadline = new Deadline(PARTING_MILLIS);
        synchronized (this) {
            while (!heardTheEnd && !deadline.over()) {
                deadline.await(this);
            }
        }
    }

    /** Lets go of everything; the threads end by it, and with them whatever refers to this loader. */
    private void end() {
        commands.end();
        letGo();
    }

    private void letGo() {
        tenure.release();
        outgoing.end();
        line.close();
    }

    /** Compares in a time that tells nothing about where two texts differ. */
    private static boolean same(String a, String b) {
        int difference = a.length() ^ b.length();
        for (int i = 0; i < a.length() && i < b.length(); i++) {
            difference |= a.charAt(i) ^ b.charAt(i);
        }
        return difference == 0 && !a.isEmpty();
    }
}
