import java.util.List;

/** What Java 21 added. */
public class Newer {
    public static void main(String[] args) throws Exception {
        patterns(new Circle(1));
        patterns(new Square(new Side(2)));
        records();
        virtualThread();
    }

    static void patterns(Form f) {
        Trace.log();
        switch (f) {
            case Circle(int r) when big(r) -> { }
            case Circle c -> c.area();
            case Square(Side(var n)) -> helper(n);
        }
        Object o = Tone.LOUD;
        switch (o) {
            case Tone.LOUD -> helper(1);
            case String s -> { }
            default -> { }
        }
    }

    static void records() {
        Trace.log();
        new Square(new Side(1)).equals(new Square(new Side(1)));
        new Square(new Side(3)).hashCode();
        String s = "" + new Square(new Side(4));
    }

    static void virtualThread() throws Exception {
        Trace.log();
        Thread.ofVirtual().start(() -> Trace.log()).join();
        List.of(2, 1).stream().sorted((a, b) -> { Trace.log(); return a - b; }).toList();
    }

    static boolean big(int r) { Trace.log(); return r > 5; }

    static void helper(int n) { Trace.log(); }
}

sealed interface Form { }

record Circle(int r) implements Form {
    Circle { Trace.log(); }
    public int r() { Trace.log(); return r; }
    int area() { Trace.log(); return 3 * r; }
}

record Square(Side side) implements Form { }

record Side(int n) {
    public int n() { Trace.log(); return n; }
    @Override public boolean equals(Object o) { Trace.log(); return true; }
    @Override public int hashCode() { Trace.log(); return 1; }
    @Override public String toString() { Trace.log(); return "side"; }
}

enum Tone { LOUD, QUIET; static { Trace.log(); } }
