package shop;

public enum Status {
    OPEN, PAID, SENT {
        @Override
        public boolean done() {
            return true;
        }
    };

    public boolean done() {
        return false;
    }
}
