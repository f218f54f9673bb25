package shop;

/** Which default method is run is a matter of which interface is more specific. */
public final class Specific {
    private Specific() {
    }

    public interface General {
        default int getX() {
            return 1;
        }

        int other();

        int third();
    }

    public interface Special extends General {
        @Override
        default int getX() {
            return new int[3].length;
        }
    }

    public static class Both implements General, Special {
        @Override
        public int other() {
            return packaged();
        }

        @Override
        public int third() {
            return 3;
        }

        private int packaged() {
            return 1;
        }
    }
}
