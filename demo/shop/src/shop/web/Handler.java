package shop.web;

import shop.payment.PaymentRefused;

/** Answers one type of request. */
@FunctionalInterface
public interface Handler {
    Reply handle(Request request) throws PaymentRefused;
}
