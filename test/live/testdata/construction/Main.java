package construction;

import harness.Workload;

/** Constructors and static initialisers. */
public final class Main implements Workload {
    @Override
    public long round() throws Exception {
        return Chains.work() * 31 + Initialisers.work();
    }
}
