import java.util.Arrays;

/** Sealed hierarchies: exhaustive switches without default, permitted classes by reflection. */
public final class Sealed {
    sealed interface Expression permits Constant, Sum, Product, Negation {
    }

    record Constant(double value) implements Expression {
    }

    record Sum(Expression left, Expression right) implements Expression {
    }

    record Product(Expression left, Expression right) implements Expression {
    }

    record Negation(Expression inner) implements Expression {
    }

    abstract static sealed class Vehicle {
        static final class Car extends Vehicle {
        }

        static non-sealed class Truck extends Vehicle {
        }

        static final class Bus extends Vehicle {
        }
    }

    static double evaluate(Expression e) {
        return switch (e) {
            case Constant(var value) -> value;
            case Sum(var left, var right) -> evaluate(left) + evaluate(right);
            case Product(Constant(var zero), var ignored) when zero == 0 -> 0;
            case Product(var left, var right) -> evaluate(left) * evaluate(right);
            case Negation(Negation(var inner)) -> evaluate(inner);
            case Negation(var inner) -> -evaluate(inner);
        };
    }

    static int wheels(Vehicle v) {
        switch (v) {
            case Vehicle.Car c -> {
                return 4;
            }
            case Vehicle.Truck t when t.getClass() != Vehicle.Truck.class -> {
                return 18;
            }
            case Vehicle.Truck t -> {
                return 6;
            }
            case Vehicle.Bus b -> {
                return 8;
            }
        }
    }

    public static void main(String[] args) {
        Expression e = new Sum(new Product(new Constant(3), new Constant(4)),
                new Negation(new Negation(new Product(new Constant(0), new Negation(new Constant(1))))));
        System.out.println(e + " = " + evaluate(e));
        System.out.println(wheels(new Vehicle.Car()) + wheels(new Vehicle.Truck()) + wheels(new Vehicle.Truck() { }) + wheels(new Vehicle.Bus()));
        System.out.println(Arrays.toString(Expression.class.getPermittedSubclasses()) + Vehicle.class.isSealed());
        try {
            evaluate(null);
        } catch (NullPointerException n) {
            System.out.println("null refused");
        }
    }
}
