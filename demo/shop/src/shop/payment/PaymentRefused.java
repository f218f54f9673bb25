package shop.payment;

/** The payment was not accepted. */
public final class PaymentRefused extends Exception {
    private static final long serialVersionUID = 1;

    PaymentRefused(String reason) {
        super(reason);
    }
}
