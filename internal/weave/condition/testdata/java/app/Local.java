package app;

/** Visible inside its package only. */
class Local {
    int seen;
    private int unseen;
    Local next;

    Local(int seen, Local next) {
        this.seen = seen;
        this.unseen = seen;
        this.next = next;
    }

    int unseen() {
        return unseen;
    }
}
