/** Is loaded by loaders that find it in different folders. */
public class PackedTwin {
    public static int number() {
        return 0x23456789;
    }
}
