package shop.payment;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import shop.customer.Customer;

/** Card numbers are checked and the amount signed, as the bank wants it. */
public final class CardPayment implements PaymentMethod {
    private static final String ALGORITHM = "HmacSHA256";

    private final SecretKeySpec key = new SecretKeySpec("demo shop".getBytes(StandardCharsets.UTF_8), ALGORITHM);

    @Override
    public String name() {
        return "card";
    }

    @Override
    public String settle(Customer customer, long cents, String account) throws PaymentRefused {
        if (!account.matches("[0-9]{12,19}") || !hasValidCheckDigit(account)) {
            throw new PaymentRefused("not a card number");
        }
        return "card-" + signature(account + "/" + cents).substring(0, 16);
    }

    private static boolean hasValidCheckDigit(String number) {
        int sum = 0;
        for (int i = 0; i < number.length(); i++) {
            int digit = number.charAt(number.length() - 1 - i) - '0';
            int weighted = i % 2 == 0 ? digit : 2 * digit;
            sum += weighted > 9 ? weighted - 9 : weighted;
        }
        return sum % 10 == 0;
    }

    private String signature(String text) {
        try {
            Mac mac = Mac.getInstance(ALGORITHM);
            mac.init(key);
            return HexFormat.of().formatHex(mac.doFinal(text.getBytes(StandardCharsets.UTF_8)));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }
}
