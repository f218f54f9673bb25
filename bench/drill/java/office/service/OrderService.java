package office.service;

/** Takes an order: what it costs, who has ordered it, where it goes, and the papers. */
public final class OrderService {
    private final Customers customers;
    private final Addresses addresses;
    private final Tariffs tariffs;
    private final InvoiceNumbers numbers;
    private final Carriers carriers;
    private final Statements statements;

    public OrderService(Customers customers, Addresses addresses, Tariffs tariffs, InvoiceNumbers numbers, Carriers carriers, Statements statements) {
        this.customers = customers;
        this.addresses = addresses;
        this.tariffs = tariffs;
        this.numbers = numbers;
        this.carriers = carriers;
        this.statements = statements;
    }

    public String place(Order order) throws Exception {
        addresses.check(order);
        long price = tariffs.price(order) - customers.discount(order);
        price += carriers.fee(order);
        String papers = statements.papers(order);
        return "invoice " + numbers.next(order) + ": " + price + papers;
    }
}
