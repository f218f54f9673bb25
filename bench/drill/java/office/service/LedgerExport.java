package office.service;

/** Writes the ledger again and again. */
public final class LedgerExport implements Runnable {
    private final InvoiceNumbers numbers;

    public LedgerExport(InvoiceNumbers numbers) {
        this.numbers = numbers;
    }

    @Override
    public void run() {
        while (true) {
            Rest.millis(400);
            numbers.hold(this::write);
        }
    }

    private void write() {
        Rest.millis(120); // a slow disk
    }
}
