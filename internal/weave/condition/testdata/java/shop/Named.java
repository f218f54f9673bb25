package shop;

/** May be a lambda. */
public interface Named {
    String getName();
}
