package shapes;

import ledger.Fixture;
import ledger.Ledger;

/** Classes of every shape: inner, local, anonymous, enums with bodies, records; and switches on them. */
public final class Main extends Fixture {
    /** What the shapes have in common. */
    interface Shape {
        long area();
    }

    enum Unit {
        SMALL {
            @Override
            long scaled(long x) {
                Ledger.count("shapes/Main$Unit$1.scaled(J)J");
                return x;
            }
        },
        LARGE {
            @Override
            long scaled(long x) {
                Ledger.Call call = Ledger.in("shapes/Main$Unit$2.scaled(J)J");
                return Ledger.out(call, factor() * x);
            }
        };

        abstract long scaled(long x);

        long factor() {
            Ledger.count("shapes/Main$Unit.factor()J");
            return 1000;
        }
    }

    record Point(int x, int y) implements Shape {
        Point {
            Ledger.Call call = Ledger.in("shapes/Main$Point.<init>(II)V");
            checked(x);
            Ledger.out(call);
        }

        static void checked(int x) {
            Ledger.count("shapes/Main$Point.checked(I)V");
        }

        @Override
        public int x() {
            Ledger.count("shapes/Main$Point.x()I");
            return x;
        }

        @Override
        public long area() {
            Ledger.Call call = Ledger.in("shapes/Main$Point.area()J");
            return Ledger.out(call, x() * y);
        }
    }

    private final class Inner {
        long value() {
            Ledger.Call call = Ledger.in("shapes/Main$Inner.value()J");
            return Ledger.out(call, ofOuter() + 1);
        }
    }

    @Override
    public long round() {
        return root();
    }

    private long root() {
        Ledger.Call call = Ledger.root("shapes/Main.root()J");
        class Local implements Shape {
            @Override
            public long area() {
                Ledger.count("shapes/Main$1Local.area()J");
                return 3;
            }
        }
        Shape anonymous = new Shape() {
            @Override
            public long area() {
                Ledger.Call inner = Ledger.in("shapes/Main$1.area()J");
                return Ledger.out(inner, ofOuter() + 2);
            }
        };
        Point point = new Point(2, 3);
        long sum = new Inner().value();
        for (Shape shape : new Shape[] {new Local(), anonymous, point}) {
            sum += shape.area();
        }
        sum += point.equals(new Point(2, 3)) ? 1 : 0;
        sum += point.toString().length() + (point.hashCode() == new Point(2, 3).hashCode() ? 1 : 0);
        for (Unit unit : Unit.values()) {
            sum += unit.scaled(sum) + chosen(unit) + chosen(unit.name());
        }
        return Ledger.out(call, sum);
    }

    private long ofOuter() {
        Ledger.count("shapes/Main.ofOuter()J");
        return 5;
    }

    private static long chosen(Unit unit) {
        Ledger.Call call = Ledger.in("shapes/Main.chosen(Lshapes/Main$Unit;)J");
        return Ledger.out(call, switch (unit) {
            case SMALL -> first();
            case LARGE -> second();
        });
    }

    private static long chosen(String text) {
        Ledger.Call call = Ledger.in("shapes/Main.chosen(Ljava/lang/String;)J");
        switch (text) {
            case "SMALL":
                return Ledger.out(call, second());
            case "LARGE":
                return Ledger.out(call, first() + second());
            default:
                return Ledger.out(call, 0);
        }
    }

    private static long first() {
        Ledger.count("shapes/Main.first()J");
        return 1;
    }

    private static long second() {
        Ledger.count("shapes/Main.second()J");
        return 2;
    }
}
