package shop.web;

import shop.catalog.Catalog;
import shop.catalog.Product;

/** The page of one product. */
public final class ProductHandler implements Handler {
    private final Catalog catalog;

    record Form(int id) {
    }

    public ProductHandler(Catalog catalog) {
        this.catalog = catalog;
    }

    @Override
    public Reply handle(Request request) {
        Product product = catalog.byId(request.as(Form.class).id());
        return Reply.page(product.name(), "<p>" + Reply.money(product.cents()) + ", " + product.grams() + " g, "
            + product.stock() + " in stock</p>\n");
    }
}
