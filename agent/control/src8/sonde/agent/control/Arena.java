package sonde.agent.control;

/** The mapped arena, if there is one, as the agent's threads see it. */
final class Arena {
    private final HookClasses hookClasses;
    private volatile Hooks hooks;

    Arena(HookClasses hookClasses) {
        this.hookClasses = hookClasses;
    }

    /** Null if nothing is mapped. */
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

    /**
     * Keeps the calling thread, one of the agent's own, out of the arena that another session may have, as long as
     * this one is not refused yet.
     */
    void muteInAny() {
        try {
            if (hookClasses.areDefined()) {
                Hooks.muteInAny();
            }
        } catch (Throwable contained) {
            // The other session measures a little too much.
        }
    }

    /** Keeps one of the agent's own threads out of each arena, from the first thing it does after it was mapped. */
    final class Muting {
        private Hooks mutedIn;

        Muting() {
            muteInAny();
        }

        void renew() {
            Hooks mapped = hooks;
            if (mapped != null && mapped != mutedIn) {
                mapped.mute();
                mutedIn = mapped;
            }
        }
    }
}
