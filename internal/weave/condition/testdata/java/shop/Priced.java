package shop;

public interface Priced {
    long getCents();

    String getLabel();

    default boolean isDear() {
        return getCents() > 1000;
    }
}
