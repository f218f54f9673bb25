package sonde.agent.control;

import java.io.IOException;

/** A connection to Sonde. One thread reads, one writes; closing it, from any thread, ends both. */
interface Line {
    /** Reads at least one byte, and at most {@code count}; -1 where no more will come. */
    int read(byte[] into, int offset, int count) throws IOException;

    void write(byte[] from) throws IOException;

    /** Tells the other side that no more comes, and lets it finish: closing at once could take back what was sent. */
    void endOutput() throws IOException;

    void close();
}
