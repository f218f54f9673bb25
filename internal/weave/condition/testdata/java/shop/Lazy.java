package shop;

/** One implementation writes what it computes. */
public interface Lazy {
    int getSize();

    int getOther();

    final class Plain implements Lazy {
        @Override
        public int getSize() {
            return 1;
        }

        @Override
        public int getOther() {
            return 2;
        }
    }

    final class Caching implements Lazy {
        private int size;

        @Override
        public int getSize() {
            if (size == 0) {
                size = 5;
            }
            return size;
        }

        @Override
        public int getOther() {
            return 2;
        }
    }
}
