package shop;

/** Loads late, and brings an override that writes. */
public class Vip extends Customer {
    int asked;

    public Vip() {
        super("gold", "");
    }

    @Override
    public String getTier() {
        asked++;
        return "gold";
    }
}
