package sonde.agent.control;

import java.io.IOException;

/** A connection to Sonde. One thread reads, one writes; closing it, from any thread, ends both. */
interface Line {
    /** Reads at least one byte, and at most {@code count}; -1 at the end. */
    int read(byte[] into, int offset, int count) throws IOException;

    void write(byte[] from) throws IOException;

    /** Ends the output and lets the other side finish: closing at once could discard data that was sent. */
    void endOutput() throws IOException;

    void close();
}
