package shop.web;

import shop.catalog.Catalog;

/** Products by the words in their names, cheapest first. */
public final class SearchHandler implements Handler {
    private final Catalog catalog;

    record Form(String q) {
    }

    public SearchHandler(Catalog catalog) {
        this.catalog = catalog;
    }

    @Override
    public Reply handle(Request request) {
        return Reply.json(200, catalog.search(request.as(Form.class).q()));
    }
}
