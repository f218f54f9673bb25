import java.io.IOException;

/** The compiler on a tree of sources. */
final class JavacRoot implements Clocked.Program {
    private final JavacTree tree = new JavacTree();

    JavacRoot() throws IOException {
    }

    @Override
    public void call() {
        long began = System.nanoTime();
        tree.round();
        Clocked.add(began);
    }
}
