interface Interfaces {
    int CONSTANT = Integer.parseInt("7");

    void required();

    default int usual() {
        return hidden() + CONSTANT;
    }

    static int fixed() {
        return 3;
    }

    private int hidden() {
        return fixed();
    }
}
