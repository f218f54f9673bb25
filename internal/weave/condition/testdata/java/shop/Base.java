package shop;

/** What others inherit. */
public class Base {
    protected int level;
    int packaged = 3;
    private long id;

    protected Base(int level, long id) {
        this.level = level;
        this.id = id;
    }

    public final long getId() {
        return id;
    }
}
