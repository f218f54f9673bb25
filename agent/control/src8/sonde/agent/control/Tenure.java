package sonde.agent.control;

import java.util.Properties;

/** Ensures that one Sonde at a time holds a JVM, by an array that all versions share. */
final class Tenure {
    private final Object[] holder;
    private final String mine;

    Tenure(Object[] holder, Properties session) {
        this(holder, session.getProperty("holder", "an unnamed Sonde"));
    }

    Tenure(Object[] holder, String name) {
        this.holder = holder;
        this.mine = new String(name); // a new object, compared by identity
    }

    /** Acquires the JVM, or returns the name of its holder. */
    String claim() {
        synchronized (holder) {
            if (holder[0] != null) {
                return String.valueOf(holder[0]);
            }
            holder[0] = mine;
            return null;
        }
    }

    void release() {
        synchronized (holder) {
            if (holder[0] == mine) {
                holder[0] = null;
            }
        }
    }
}
