package shop.payment;

import java.util.concurrent.atomic.AtomicLong;
import shop.customer.Customer;

/** The goods go out with an invoice, within the customer's credit. */
public final class InvoicePayment implements PaymentMethod {
    private final CreditPolicy credit;
    private final AtomicLong lastNumber = new AtomicLong();

    public InvoicePayment(CreditPolicy credit) {
        this.credit = credit;
    }

    @Override
    public String name() {
        return "invoice";
    }

    @Override
    public String settle(Customer customer, long cents, String account) throws PaymentRefused {
        long limit = credit.limitFor(customer);
        if (cents > limit) {
            throw new PaymentRefused("above the credit of " + limit / 100);
        }
        return "invoice-" + lastNumber.incrementAndGet();
    }
}
