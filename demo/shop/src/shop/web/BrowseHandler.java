package shop.web;

import java.util.List;
import java.util.stream.Collectors;
import shop.catalog.Catalog;
import shop.catalog.Product;

/** A page of products, and the way to other categories. */
public final class BrowseHandler implements Handler {
    private final Catalog catalog;

    record Form(String category) {
    }

    public BrowseHandler(Catalog catalog) {
        this.catalog = catalog;
    }

    @Override
    public Reply handle(Request request) {
        Form form = request.as(Form.class);
        List<String> categories = catalog.categories();
        String category = form.category().isEmpty() ? categories.get(0) : form.category();
        String links = categories.stream().map(name -> "<a href=\"/?category=" + name + "\">" + name + "</a>")
            .collect(Collectors.joining(" · ", "<p>", "</p>\n"));
        String rows = catalog.inCategory(category).stream().map(BrowseHandler::row)
            .collect(Collectors.joining("", "<ul>\n", "</ul>\n"));
        return Reply.page("The shop: " + category, links + rows);
    }

    private static String row(Product product) {
        return "<li><a href=\"/product?id=" + product.id() + "\">" + Reply.escape(product.name()) + "</a> "
            + Reply.money(product.cents()) + "</li>\n";
    }
}
