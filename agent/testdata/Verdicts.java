import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Calls methods whose calls are decided at their exits, as often as its input says. */
public class Verdicts {
    public static void main(String[] args) throws Exception {
        Work.handle("", 0);
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            System.out.println(words[0] + " " + call(words[0], Integer.parseInt(words[1])));
        }
    }

    private static int call(String what, int number) throws InterruptedException {
        if (!what.equals("overflow")) {
            return attempt(what, number);
        }
        int[] result = new int[1];
        Thread thread = new Thread(null, () -> {
            try {
                Work.deeper(number);
            } catch (StackOverflowError expected) {
                result[0] = attempt("after", 5);
            }
        }, "deep", 1 << 18);
        thread.start();
        thread.join();
        return result[0];
    }

    private static int attempt(String name, int number) {
        try {
            return Work.handle(name.equals("nobody") ? null : name, number);
        } catch (IllegalStateException expected) {
            return -1;
        }
    }

    static class Work {
        static int handle(String name, int number) {
            if (number < 0) {
                throw new IllegalStateException();
            }
            return inner(number) + inner(number);
        }

        static int inner(int number) {
            return 10 * number;
        }

        static int deeper(int number) {
            return deeper(number + 1) + handle("deep", number);
        }
    }
}
