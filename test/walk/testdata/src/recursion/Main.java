package recursion;

import harness.Harness;
import harness.Way;

/** A hot leaf under a recursive caller, and a hot method that is recursive itself; each by two ways. */
public final class Main implements Harness.Fixture {
    private static final Way PLAN = Way.toOwn();
    private static final Way REVIEW = Way.toOwn();
    private static final Way SEARCH = Way.toOwn();
    private static final Way INDEX = Way.toOwn();

    @Override
    public long turn() {
        long began = PLAN.begin();
        long sum = plan();
        PLAN.end(began);
        began = REVIEW.begin();
        sum += review();
        REVIEW.end(began);
        began = SEARCH.begin();
        sum += search();
        SEARCH.end(began);
        began = INDEX.begin();
        sum += index();
        INDEX.end(began);
        return sum;
    }

    // Trees of depth d have 2^d - 1 nodes: 31 and 15.

    private static long plan() {
        return Task.cost(5, 1);
    }

    private static long review() {
        return Task.cost(4, 2);
    }

    private static long search() {
        return Tree.visit(5, 3) + Tree.visit(3, 4);
    }

    private static long index() {
        return Tree.visit(4, 5);
    }
}
