package shapes;

import harness.Workload;

/** What the language makes classes and jumps of: nesting, enums, records, switches, finally. */
public final class Main implements Workload {
    @Override
    public long round() {
        return new Nested().work() * 31 + Kinds.work() * 17 + Jumps.work();
    }
}
