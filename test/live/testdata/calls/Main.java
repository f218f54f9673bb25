package calls;

import harness.Workload;

/** Plain calls of every kind: static, virtual, through interfaces and bridges, synchronized, with wide arguments. */
public final class Main implements Workload {
    @Override
    public long round() {
        return Plain.work() * 31 + Contracts.work() * 17 + Guarded.work();
    }
}
