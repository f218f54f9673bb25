package shop.web;

import shop.cart.Cart;
import shop.cart.Carts;
import shop.catalog.Catalog;
import shop.customer.Customers;

/** Puts a product into the customer's cart and shows the cart. */
public final class CartHandler implements Handler {
    private final Customers customers;
    private final Catalog catalog;
    private final Carts carts;

    record Form(int customer, int product, int quantity) {
    }

    public CartHandler(Customers customers, Catalog catalog, Carts carts) {
        this.customers = customers;
        this.catalog = catalog;
        this.carts = carts;
    }

    @Override
    public Reply handle(Request request) {
        Form form = request.as(Form.class);
        if (form.quantity() < 1 || form.quantity() > 50) {
            throw new BadRequest("quantity must be 1 to 50");
        }
        Cart cart = carts.of(customers.byId(form.customer()));
        cart.add(catalog.byId(form.product()), form.quantity());
        return Reply.json(200, cart.lines());
    }
}
