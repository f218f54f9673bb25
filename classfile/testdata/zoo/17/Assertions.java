class Assertions {
    static void positive(int i) {
        assert i > 0 : "not positive: " + i;
    }
}
