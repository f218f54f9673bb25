package sonde.agent.control;

import java.util.Properties;

/** That one Sonde at a time holds a JVM: kept in an array that all versions share. */
final class Tenure {
    private final Object[] holder;
    private final String mine;

    Tenure(Object[] holder, Properties session) {
        this(holder, session.getProperty("holder", "a Sonde that did not say its name"));
    }

    Tenure(Object[] holder, String name) {
        this.holder = holder;
        this.mine = new String(name); // one of its own
    }

    /** Begins to hold the JVM, or gives the name of who does. */
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
