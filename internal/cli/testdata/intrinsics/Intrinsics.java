package intrinsics;

import java.util.Scanner;

/** Calls methods that HotSpot replaces in compiled code, and one of its own, as often as it is told, line by line. */
public class Intrinsics {
    static double sum;

    static int step(int i) {
        return Math.max(i, 7);
    }

    static void work(int calls) {
        for (int i = 0; i < calls; i++) {
            sum += step(i) + Math.sqrt(i);
        }
    }

    public static void main(String[] args) {
        System.out.println("ready");
        Scanner in = new Scanner(System.in);
        while (in.hasNextInt()) {
            int calls = in.nextInt();
            work(calls);
            System.out.println("done " + calls);
        }
    }
}
