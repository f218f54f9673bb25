class StringSwitch {
    static int of(String s) {
        switch (s) {
            case "one":
                return 1;
            case "Aa":
            case "BB":
                return 2;
            default:
                return 0;
        }
    }
}
