package proxied;

/** Is compiled to a folder that is not on the class path. */
class Proxied$Service$$SpringCGLIB$$0 extends Proxied.Service {
    @Override
    public int find(int id) {
        return super.find(id) + Integer.bitCount(id);
    }
}
