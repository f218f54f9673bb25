package office.service;

import java.util.regex.Pattern;

/** Checks where orders go. */
public final class Addresses {
    /** A street, a number and a town. If there is no number, every way to divide the text is tried. */
    private static final Pattern FORM = Pattern.compile("(.+)[ ,]*(.+)[ ,]*(.+) [0-9]+[a-z]?, .+");

    void check(Order order) {
        if (order.address().isBlank()) {
            throw new IllegalArgumentException("an address is missing");
        }
        isComplete(order.address());
    }

    private boolean isComplete(String address) {
        return FORM.matcher(address).matches();
    }
}
