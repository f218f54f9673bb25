package shop;

import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Does what its input says: web N, mock N, vip N; storm N lets N threads work until the next line. */
public class Main {
    private static volatile int storms;

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        Customer gold = new Customer("gold", "x");
        Customer silver = new Customer("silver", "x");
        Web web = new Web();
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            int count = Integer.parseInt(words[1]);
            String told = "";
            storms++;
            switch (words[0]) {
                case "web":
                    for (int i = 0; i < count; i++) {
                        web.handle(gold, i);
                        web.handle(silver, i);
                    }
                    break;
                case "storm":
                    for (int i = 0; i < count; i++) {
                        Thread storm = new Thread(() -> storm(web, gold, silver, storms));
                        storm.setDaemon(true);
                        storm.start();
                    }
                    break;
                case "mock":
                    for (int i = 0; i < count; i++) {
                        LateMock.mock(gold);
                    }
                    break;
                default:
                    told = " asked " + LateVip.vip(web, count);
            }
            System.out.println("done " + line + told);
        }
    }

    private static void storm(Web web, Customer gold, Customer silver, int number) {
        for (int i = 0; storms == number; i++) {
            web.handle(i % 3 == 0 ? gold : silver, i);
            nest(i % 5);
        }
    }

    static int nest(int depth) {
        return depth == 0 ? 0 : 1 + nest(depth - 1);
    }

    /** Has classes load when it is told to, and not when Main is verified. */
    static class LateMock {
        static void mock(Customer customer) {
            new Order(new Mock()).place(customer, 1);
        }
    }

    /** Likewise. */
    static class LateVip {
        static int vip(Web web, int count) {
            Vip vip = new Vip();
            for (int i = 0; i < count; i++) {
                web.handle(vip, i);
            }
            return vip.asked;
        }
    }
}
