package dynamic;

import harness.Workload;

/** Calls that are linked while the program runs: lambdas, method references, reflection, handles, proxies, hidden classes. */
public final class Main implements Workload {
    @Override
    public long round() throws LinkedFailure {
        try {
            return Lambdas.work() * 31 + Reflective.work() * 17 + Generated.work();
        } catch (Throwable t) {
            throw new LinkedFailure(t);
        }
    }

    /** Carries what method handles may throw through a signature that has no place for it. */
    static final class LinkedFailure extends Exception {
        private static final long serialVersionUID = 1;

        LinkedFailure(Throwable cause) {
            super(cause);
        }
    }
}
