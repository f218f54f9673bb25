package exceptions;

import harness.Workload;

/** Exceptions of every origin, through frames of all kinds. */
public final class Main implements Workload {
    @Override
    public long round() {
        return Through.work() * 31 + Origins.work();
    }
}
