package implementations;

import harness.Harness;
import harness.Way;

/** A hot interface method with five implementations, 40 to 25 to 15 to 12 to 8, by two ways. */
public final class Main implements Harness.Fixture {
    private static final Way SCREEN = Way.toOwn();
    private static final Way PRINTER = Way.toOwn();
    private static final int[] TIMES = {40, 25, 15, 12, 8};

    private final Shape[] shapes = new Shape[100];

    public Main() {
        Shape[] kinds = {new Circle(), new Square(), new Star(), new Cross(), new Arrow()};
        for (int kind = 0, at = 0; kind < kinds.length; kind++) {
            for (int i = 0; i < TIMES[kind]; i++) {
                // 37 has no factor in common with 100: they lie mixed.
                shapes[at++ * 37 % shapes.length] = kinds[kind];
            }
        }
    }

    @Override
    public long turn() {
        long began = SCREEN.begin();
        long sum = draw();
        SCREEN.end(began);
        began = PRINTER.begin();
        sum += print();
        PRINTER.end(began);
        return sum;
    }

    private long draw() {
        return paint(7);
    }

    private long print() {
        return paint(3);
    }

    private long paint(int times) {
        long sum = 0;
        for (int i = 0; i < times; i++) {
            for (Shape shape : shapes) {
                sum += shape.area(i);
            }
        }
        return sum;
    }

    /** What has five implementations. */
    interface Shape {
        int STEPS = 600;

        long area(int size);
    }

    static final class Circle implements Shape {
        @Override
        public long area(int size) {
            Way.here();
            long x = size | 1;
            for (int left = STEPS; left > 0; left -= 1 + (int) (x & 1)) {
                x ^= x << 13;
                x ^= x >>> 7;
                x ^= x << 17;
            }
            return x;
        }
    }

    static final class Square implements Shape {
        @Override
        public long area(int size) {
            Way.here();
            long x = size | 3;
            for (int left = STEPS; left > 0; left -= 1 + (int) (x & 1)) {
                x ^= x << 7;
                x ^= x >>> 9;
                x ^= x << 8;
            }
            return x;
        }
    }

    static final class Star implements Shape {
        @Override
        public long area(int size) {
            Way.here();
            long x = size | 5;
            for (int left = STEPS; left > 0; left -= 1 + (int) (x & 1)) {
                x ^= x << 25;
                x ^= x >>> 27;
                x ^= x << 12;
            }
            return x;
        }
    }

    static final class Cross implements Shape {
        @Override
        public long area(int size) {
            Way.here();
            long x = size | 7;
            for (int left = STEPS; left > 0; left -= 1 + (int) (x & 1)) {
                x ^= x << 21;
                x ^= x >>> 35;
                x ^= x << 4;
            }
            return x;
        }
    }

    static final class Arrow implements Shape {
        @Override
        public long area(int size) {
            Way.here();
            long x = size | 9;
            for (int left = STEPS; left > 0; left -= 1 + (int) (x & 1)) {
                x ^= x << 17;
                x ^= x >>> 31;
                x ^= x << 8;
            }
            return x;
        }
    }
}
