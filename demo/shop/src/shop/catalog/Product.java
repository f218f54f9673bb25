package shop.catalog;

/** What is for sale; prices in cents. */
public record Product(int id, String name, String category, long cents, int grams, int stock) {
}
