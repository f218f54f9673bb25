import java.io.BufferedReader;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Gives the flight recorder something of everything to record: for a number of
 * rounds where one is given, else until its input ends.
 */
public class Busy {
    private static final Object LOCK = new Object();
    private static final List<byte[]> KEPT = new ArrayList<>();
    private static volatile boolean running = true;
    private static volatile long sink;

    /** Java code that runs, at several depths. */
    static long spin(int depth) {
        if (depth > 0) {
            return spin(depth - 1) + 1;
        }
        Map<String, Integer> words = new HashMap<>();
        for (int i = 0; i < 2000; i++) {
            words.merge("word" + i % 97, i, Integer::sum);
        }
        return words.size();
    }

    static void allocate(int round) {
        byte[] large = new byte[200_000];
        synchronized (KEPT) {
            if (round % 50 == 0 && KEPT.size() < 200) {
                KEPT.add(large);
            }
        }
    }

    static void fail() {
        try {
            throw new IllegalStateException("größer als 7 € 漢字");
        } catch (IllegalStateException e) {
            sink += e.getMessage().length();
        }
    }

    static void contend() throws InterruptedException {
        synchronized (LOCK) {
            LOCK.wait(1);
        }
    }

    static void files() throws Exception {
        File file = File.createTempFile("busy", ".txt");
        try (FileOutputStream out = new FileOutputStream(file)) {
            out.write(new byte[1000]);
            out.getFD().sync();
        }
        try (FileInputStream in = new FileInputStream(file)) {
            sink += in.read(new byte[1000]);
        }
        file.delete();
    }

    static void sockets() throws Exception {
        try (ServerSocket server = new ServerSocket(0)) {
            Thread client = new Thread(() -> {
                try (Socket socket = new Socket("localhost", server.getLocalPort())) {
                    socket.getOutputStream().write(7);
                    sink += socket.getInputStream().read();
                } catch (Exception e) {
                    throw new RuntimeException(e);
                }
            }, "client");
            client.start();
            try (Socket socket = server.accept()) {
                sink += socket.getInputStream().read();
                socket.getOutputStream().write(9);
            }
            client.join();
        }
    }

    static void child() throws Exception {
        new ProcessBuilder("true").start().waitFor();
    }

    static void work(int id, int rounds) {
        try {
            for (int round = 0; running && round < rounds; round++) {
                sink += spin(round % 30);
                allocate(round);
                if (round % 20 == 0) {
                    fail();
                    contend();
                }
                if (round % 200 == 100) {
                    files();
                    sockets();
                }
                if (id == 0 && round % 1000 == 500) {
                    child();
                    System.gc();
                }
            }
        } catch (Exception e) {
            e.printStackTrace();
        }
    }

    public static void main(String[] args) throws Exception {
        int rounds = args.length > 0 ? Integer.parseInt(args[0]) : Integer.MAX_VALUE;
        List<Thread> workers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            int id = i;
            Thread worker = new Thread(() -> work(id, rounds), "worker-" + i);
            worker.start();
            workers.add(worker);
        }
        if (args.length > 0) {
            for (Thread worker : workers) {
                worker.join();
            }
        }
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println("read " + line);
        }
        running = false;
        for (Thread worker : workers) {
            worker.join();
        }
    }
}
