class Nested {
    private int value;

    Runnable anonymous() {
        class Local {
            int twice() {
                return value * 2;
            }
        }
        return new Runnable() {
            @Override
            public void run() {
                value = new Local().twice();
            }
        };
    }

    static class Deep {
        interface Deeper {
            enum Deepest { X }
        }
    }
}
