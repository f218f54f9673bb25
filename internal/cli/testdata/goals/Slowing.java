package goals;

import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Places orders until its input ends. After the line "slow", two of three orders take long to pay, after "elsewhere" to find, after "fast" none does. */
public final class Slowing {
    private static final long SLOW_MILLIS = 60;
    private static volatile String state = "fast";
    private static volatile long sink;

    private Slowing() {
    }

    static final class Checkout {
        void place(int number) {
            Stock.take(number);
            Payment.charge(number);
        }
    }

    static final class Stock {
        static void take(int number) {
            sink += number * 31L;
            Shelf.find(number);
        }
    }

    static final class Shelf {
        static void find(int number) {
            sink -= number * 17L;
            walk(number);
        }

        static void walk(int number) {
            sink ^= number;
            if (state.equals("elsewhere") && number % 3 != 0) {
                dust();
            }
        }

        static void dust() {
            try {
                Thread.sleep(SLOW_MILLIS);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    static final class Payment {
        static void charge(int number) {
            sink += number;
            Gateway.call(number);
        }
    }

    static final class Gateway {
        static void call(int number) {
            sink -= number;
            send(number);
        }

        static void send(int number) {
            sink ^= number;
            if (state.equals("slow") && number % 3 != 0) {
                pause();
            }
        }

        static void pause() {
            try {
                Thread.sleep(SLOW_MILLIS);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        new Checkout().place(0); // loads all classes
        Thread worker = new Thread(() -> {
            Checkout checkout = new Checkout();
            try {
                for (int i = 0; ; i++) {
                    checkout.place(i);
                    Thread.sleep(2);
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }, "worker");
        worker.setDaemon(true);
        worker.start();
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            state = line;
            System.out.println("done");
        }
    }
}
