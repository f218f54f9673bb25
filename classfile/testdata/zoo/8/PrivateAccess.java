class PrivateAccess {
    private int secret;

    class Inner {
        private int own;

        void change() {
            secret += own++;
        }
    }

    int peek(Inner inner) {
        return inner.own;
    }
}
