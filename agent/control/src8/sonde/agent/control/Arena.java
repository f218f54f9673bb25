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
     * Keeps the calling thread of the agent out of the arena of another session, until this session is accepted or
     * refused.
     */
    void muteInAny() {
        try {
            if (hookClasses.areDefined()) {
                Hooks.muteInAny();
            }
        } catch (Throwable contained) {
            // The other session also measures a few calls of the agent.
        }
    }

    /** Keeps a thread of the agent out of each arena, from its first action after the arena was mapped. */
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
