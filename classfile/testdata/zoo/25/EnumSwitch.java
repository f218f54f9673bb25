sealed interface EnumSwitch {
    enum Letter implements EnumSwitch { A, B, C }

    record Word(String text) implements EnumSwitch {}

    static int of(EnumSwitch o) {
        return switch (o) {
            case Letter.A -> 1;
            case Letter l when l.ordinal() > 1 -> 2;
            case Letter _ -> 3;
            case Word(var text) -> text.length();
        };
    }
}
