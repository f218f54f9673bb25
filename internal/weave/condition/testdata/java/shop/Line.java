package shop;

public record Line(String label, long cents, Status status) implements Priced, Named {
    @Override
    public long getCents() {
        return cents;
    }

    @Override
    public String getLabel() {
        return label;
    }

    @Override
    public String getName() {
        return label;
    }
}
