import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.Supplier;

/** Makes calls of every kind; each method that is called says by whom. */
public class Calls {
    public static void main(String[] args) throws Throwable {
        statics();
        constructors();
        virtuals(new Dog());
        virtuals(new Puppy());
        interfaces(new Inherited());
        interfaces(new Own());
        supers();
        lambdas();
        references();
        serializable();
        stored(Stored.HELD);
        collections();
        texts(new Named("n"));
        switches(Color.RED);
        initialisers();
        nested();
        exceptions();
        generic(new Text());
        reflectMethod();
        reflectConstructor();
        handles();
        foreign(new Thread() {
            @Override public void run() { Trace.log(); }
        });
    }

    static void statics() { Trace.log(); Base.inheritedStatic(); Sub.inheritedStatic(); Shape.make(); }

    static void constructors() { Trace.log(); new Sub(1); new Sub(); }

    static void virtuals(Animal a) { Trace.log(); a.speak(); a.walk(); }

    static void interfaces(Runner r) { Trace.log(); r.go(); r.twice(); }

    static void supers() { Trace.log(); new Sub(2).speakUp(); new Both().twice(); }

    static void lambdas() throws Exception {
        Trace.log();
        int captured = 3;
        Runnable r = () -> { Trace.log(); helper(captured); };
        r.run();
        Callable<String> c = () -> { Trace.log(); return "x"; };
        c.call();
        Own own = new Own();
        own.instanceLambda().get();
        Supplier<Runnable> deep = () -> () -> Trace.log();
        deep.get().run();
    }

    static void references() {
        Trace.log();
        Function<String, Named> make = Named::new;
        Named n = make.apply("a");
        Supplier<String> bound = n::show;
        bound.get();
        Function<Named, String> unbound = Named::show;
        unbound.apply(n);
        IntFunction<Named[]> array = Named[]::new;
        array.apply(2);
        Variable v = Calls::variable;
        v.one(1);
        Animal dog = new Dog();
        Runnable virtual = dog::speak;
        virtual.run();
        Runnable special = new Sub(3).upward();
        special.run();
    }

    static void serializable() {
        Trace.log();
        Runnable r = (Runnable & java.io.Serializable) () -> Trace.log();
        r.run();
        Narrow narrow = x -> { Trace.log(); return ""; };
        Wide wide = narrow;
        wide.map("s");
    }

    static void stored(Runner r) { Trace.log(); r.go(); }

    static void collections() {
        Trace.log();
        List<Named> all = new ArrayList<>(List.of(new Named("b"), new Named("a")));
        all.sort(new ByName());
        all.sort(Comparator.comparing(Named::show));
        all.forEach(n -> Trace.log());
        all.contains(new Named("c"));
        new TreeMap<Named, String>().put(new Named("d"), "");
        for (Named n : new Many()) { n.show(); }
    }

    static void texts(Named n) { Trace.log(); String s = "a" + n; String.valueOf(n); s.length(); }

    static void switches(Color c) {
        Trace.log();
        switch (c) { case RED: Color.valueOf("GREEN").shade(); break; default: break; }
        switch (c.name()) { case "RED": helper(1); break; default: break; }
        for (Color each : Color.values()) { each.shade(); }
    }

    static void initialisers() { Trace.log(); int x = LazySub.value; LazyCreated.touch(); x = WithField.FIELD.length(); }

    static void nested() { Trace.log(); new Outer().new Inner().reach(); }

    static void exceptions() {
        Trace.log();
        try { throw new Failure(); } catch (Failure f) { f.handle(); } finally { helper(5); }
        try (Resource r = new Resource()) { r.use(); }
    }

    static <T> void generic(Generic<T> g) { Trace.log(); g.accept(g.initial()); }

    static void reflectMethod() throws Throwable {
        Trace.log();
        Animal.class.getDeclaredMethod("speak").invoke(new Puppy());
    }

    static void reflectConstructor() throws Throwable { Trace.log(); Reflective.class.getDeclaredConstructor().newInstance(); }

    static void handles() throws Throwable {
        Trace.log();
        MethodHandle h = MethodHandles.lookup().findVirtual(Animal.class, "walk", MethodType.methodType(void.class));
        h.invoke((Animal) new Dog());
    }

    static void foreign(Thread t) throws Exception { Trace.log(); t.run(); }

    static void helper(int x) { Trace.log(); }

    static int variable(int... xs) { Trace.log(); return 0; }
}

interface Variable { int one(int x); }

interface Wide { Object map(Object o); }

interface Narrow extends Wide { @Override String map(Object o); }

class Stored { static final Runner HELD = () -> Trace.log(); }

abstract class Animal {
    abstract void speak();
    void walk() { Trace.log(); step(); }
    private void step() { Trace.log(); }
}

class Dog extends Animal { void speak() { Trace.log(); } }

class Puppy extends Dog {
    @Override void speak() { Trace.log(); super.speak(); }
    @Override void walk() { Trace.log(); super.walk(); }
}

interface Runner {
    void go();
    default void twice() { Trace.log(); go(); secret(); }
    private void secret() { Trace.log(); }
}

class Goer { public void go() { Trace.log(); } }

class Inherited extends Goer implements Runner { }

class Own implements Runner {
    public void go() { Trace.log(); }
    public void twice() { Trace.log(); Runner.super.twice(); }
    Supplier<String> instanceLambda() { Trace.log(); return () -> { Trace.log(); go(); return ""; }; }
}

class Both extends Own implements Runner { }

interface Shape { static void make() { Trace.log(); } }

class Base {
    final int n;
    { Trace.log(); }
    Base(int n) { this.n = n; Trace.log(); }
    static void inheritedStatic() { Trace.log(); }
    void speakUp() { Trace.log(); }
}

class Sub extends Base {
    Sub() { this(0); Trace.log(); }
    Sub(int n) { super(n); Trace.log(); }
    @Override void speakUp() { Trace.log(); super.speakUp(); }
    Runnable upward() { Trace.log(); return super::speakUp; }
}

class Named implements Comparable<Named> {
    final String name;
    Named(String name) { this.name = name; Trace.log(); }
    String show() { Trace.log(); return name; }
    @Override public String toString() { Trace.log(); return name; }
    @Override public boolean equals(Object o) { Trace.log(); return this == o; }
    @Override public int hashCode() { Trace.log(); return 1; }
    @Override public int compareTo(Named o) { Trace.log(); return name.compareTo(o.name); }
}

class ByName implements Comparator<Named> {
    @Override public int compare(Named a, Named b) { Trace.log(); return a.name.compareTo(b.name); }
}

class Many extends java.util.AbstractList<Named> {
    @Override public Named get(int i) { Trace.log(); return new Named("m"); }
    @Override public int size() { Trace.log(); return 1; }
}

enum Color {
    RED { @Override void shade() { Trace.log(); } }, GREEN;
    void shade() { Trace.log(); }
}

class LazyBase { static { Trace.log(); } }

class LazySub extends LazyBase { static int value; static { value = 1; Trace.log(); } }

class LazyCreated { static { Trace.log(); } static void touch() { Trace.log(); } }

interface WithField { String FIELD = Field.make(); }

class Field { static String make() { Trace.log(); return "f"; } }

class Outer {
    private int hidden() { Trace.log(); return 1; }
    class Inner { void reach() { Trace.log(); hidden(); } }
}

class Failure extends RuntimeException {
    void handle() { Trace.log(); }
    @Override public synchronized Throwable fillInStackTrace() { Trace.log(); return this; }
}

class Resource implements AutoCloseable {
    void use() { Trace.log(); }
    @Override public void close() { Trace.log(); }
}

interface Generic<T> { void accept(T t); T initial(); }

class Text implements Generic<String> {
    public void accept(String s) { Trace.log(); }
    public String initial() { Trace.log(); return ""; }
}

class Reflective { static { Trace.log(); } Reflective() { Trace.log(); } }
