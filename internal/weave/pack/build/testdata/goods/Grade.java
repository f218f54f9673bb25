package goods;

/** A record is final, and so are its accessors. */
public record Grade(int value) {
}
