package sonde.agent.control;

/** The mapped arena, if there is one, as the agent's threads see it. */
final class Arena {
    private volatile Hooks hooks;

    /** Null where nothing is mapped. */
    Hooks hooks() {
        return hooks;
    }

    Hooks need() throws Refusal {
        Hooks mapped = hooks;
        if (mapped == null) {
            throw new Refusal("no arena is mapped");
        }
        return mapped;
    }

    void set(Hooks mapped) {
        hooks = mapped;
    }

    /** Keeps one of the agent's own threads out of each arena, from the first thing it does after it was mapped. */
    final class Muting {
        private Hooks mutedIn;

        void renew() {
            Hooks mapped = hooks;
            if (mapped != null && mapped != mutedIn) {
                mapped.mute();
                mutedIn = mapped;
            }
        }
    }
}
