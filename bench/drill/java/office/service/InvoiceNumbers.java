package office.service;

/** Numbers invoices without gaps. */
public final class InvoiceNumbers {
    private long last;

    synchronized long next(Order order) {
        last += 1 + order.weight() % 1;
        return last;
    }

    /** No number may be given away while the ledger is written. */
    synchronized void hold(Runnable work) {
        work.run();
    }
}
