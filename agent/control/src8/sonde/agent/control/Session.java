package sonde.agent.control;

import java.io.EOFException;
import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.util.Properties;

/**
 * The session of one Sonde in this JVM. It has three threads: one reads and never waits for anything else, one writes,
 * and one carries out the commands in order and ends the session.
 */
final class Session {
    static final int PROTOCOL = 2;
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
    /** Set when the last frame is being sent: later frames are read and ignored. */
    private volatile boolean parting;
    private volatile boolean met;
    private boolean heardTheEnd;

    Session(Instrumentation instrumentation, Properties properties, Tenure tenure, Build build) throws Exception {
        this.tenure = tenure;
        this.build = build;
        this.token = properties.getProperty("token", "");
        this.proof = properties.getProperty("proof", "");
        Classes classes = new Classes(instrumentation);
        HookClasses hookClasses = new HookClasses(build, instrumentation);
        arena = new Arena(hookClasses);
        arena.muteInAny();
        weaving = new Weaving(classes, replies, outgoing, lease, arena, hookClasses);
        commands = new Commands(instrumentation, classes, weaving, hookClasses, arena, new Aside(threads, arena), outgoing, lease,
                tenure);
        line = Lines.dial(properties);
    }

    /** Starts the threads, the reader last: it acquires the JVM, and the thread that releases it must run before. */
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
        } catch (EOFException ended) {
            lease.end();
        } catch (Throwable broken) { // an invalid frame ends the session
            lease.end("its reader failed: " + broken);
        }
        synchronized (this) {
            heardTheEnd = true;
            notifyAll();
        }
        inbox.wake();
        replies.wake();
    }

    /** Nothing is done in the JVM before the other side has proven that it wrote the session's file. */
    private void meet(Received welcome) throws BadFrame {
        if (welcome.kind != Kind.WELCOME || !same(welcome.string(), proof)) {
            throw new BadFrame("it is not a WELCOME with the right proof");
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
        met = true;
    }

    private void dispatch(Received frame) throws BadFrame {
        switch (frame.kind) {
            case Kind.WOVEN:
            case Kind.FAILED:
                replies.deliver(frame);
                break;
            case Kind.PING:
                // Answered here: it asks whether the agent responds, not whether the commands are complete.
                frame.end();
                outgoing.add(new Frame(Kind.DONE, frame.request));
                break;
            case Kind.PROBES:
            case Kind.SWITCH:
            case Kind.WATCHES:
                // Not in order: a thread of the program that loads a class may wait for it.
                commands.execute(frame);
                break;
            case Kind.REFUSED:
                throw new BadFrame("it is a REFUSED after the WELCOME");
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
            if (met && lease.why() != null) { // if Sonde does not read, the end of the session ends this
                line.write(Frame.text(Kind.LEAVES, 0, lease.why()).finish());
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
            lease.end("its commands failed: " + broken);
        }
        lease.end();
        commands.restoreAlone();
        end();
    }

    /** Delivers the last frame: waits until the other side has closed the connection, for a limited time. */
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

    /** Releases everything; this ends the threads, and with them all references to this loader. */
    private void end() {
        commands.end();
        letGo();
    }

    private void letGo() {
        tenure.release();
        outgoing.end();
        line.close();
    }

    /** Compares in a time that does not depend on where two texts differ. */
    private static boolean same(String a, String b) {
        int difference = a.length() ^ b.length();
        for (int i = 0; i < a.length() && i < b.length(); i++) {
            difference |= a.charAt(i) ^ b.charAt(i);
        }
        return difference == 0 && !a.isEmpty();
    }
}
