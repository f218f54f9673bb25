// Code generated from internal/wire/control/kinds.table; DO NOT EDIT.

package sonde.agent.control;

/** The kinds of frames between the agent and Sonde. */
final class Kind {
    /** From the agent: the agent proves itself and says what it is. */
    static final int HELLO = 1;

    /** From Sonde: Sonde proves itself and grants the lease. */
    static final int WELCOME = 2;

    /** From either side: no session comes about, and why. */
    static final int REFUSED = 3;

    /** From Sonde: nothing but a sign of life. */
    static final int PING = 4;

    /** From the agent: it is done. */
    static final int DONE = 5;

    /** From either side: it could not be done, and why. */
    static final int FAILED = 6;

    /** From Sonde: map the arena. */
    static final int MAP = 10;

    /** From Sonde: name the loaded classes. */
    static final int LIST = 11;

    /** From the agent: some of the loaded classes. */
    static final int CLASSES = 12;

    /** From Sonde: hand over class files. */
    static final int FETCH = 13;

    /** From the agent: a class file, or why there is none. */
    static final int ORIGINAL = 14;

    /** From Sonde: ask whether classes can see the hooks. */
    static final int SEES = 15;

    /** From the agent: which classes cannot, and why. */
    static final int SEEN = 16;

    /** From Sonde: retransform classes. */
    static final int INSTALL = 17;

    /** From the agent: what that took and what became of it. */
    static final int INSTALLED = 18;

    /** From Sonde: the table of probes. */
    static final int PROBES = 19;

    /** From Sonde: which classes to hand over while they are loaded. */
    static final int WATCH = 20;

    /** From Sonde: put everything back. */
    static final int RESTORE = 21;

    /** From the agent: what was put back and what was not. */
    static final int RESTORED = 22;

    /** From Sonde: put everything back and end. */
    static final int BYE = 23;

    /** From Sonde: name the threads. */
    static final int THREADS = 24;

    /** From the agent: the names of threads. */
    static final int NAMED = 25;

    /** From Sonde: measure what hooks cost. */
    static final int CALIBRATE = 26;

    /** From the agent: how long the runs took. */
    static final int CALIBRATED = 27;

    /** From Sonde: whether to announce members called by reflection. */
    static final int FOLLOW = 28;

    /** From Sonde: change entries of the table of probes. */
    static final int SWITCH = 29;

    /** From Sonde: the table of spots, anchors and tag points. */
    static final int WATCHES = 30;

    /** From the agent: how many classes are restored so far. */
    static final int RESTORING = 31;

    /** From the agent: weave this class. */
    static final int TRANSFORM = 40;

    /** From Sonde: the class, woven. */
    static final int WOVEN = 41;

    /** From the agent: something a user should read. */
    static final int NOTICE = 42;

    /** From the agent: why it ends by itself. */
    static final int LEAVES = 43;

    private Kind() {}
}
