package jni;

import harness.Harness;
import harness.Way;

/** A hot native method of the program's own, by two ways. */
public final class Main implements Harness.Fixture {
    private static final Way SOLVE = Way.to("jni/Main");
    private static final Way CHECK = Way.to("jni/Main");

    static {
        System.load(System.getProperty("walk.library"));
    }

    @Override
    public long turn() {
        long began = SOLVE.begin();
        long sum = solve();
        SOLVE.end(began);
        began = CHECK.begin();
        sum += check();
        CHECK.end(began);
        return sum;
    }

    private static long solve() {
        return iterate(70);
    }

    private static long check() {
        return iterate(30);
    }

    private static long iterate(int times) {
        Way.here();
        long sum = 0;
        for (int i = 0; i < times; i++) {
            sum += step(i);
        }
        return sum;
    }

    /** Takes about ten microseconds. */
    private static native long step(int seed);
}
