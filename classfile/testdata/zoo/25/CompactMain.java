void main() {
    IO.println(greeting());
}

String greeting() {
    return "hello";
}
