package calls;

import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Sockets and files. A line "work N" uses each of them N times, one after the other. */
public final class Channels {
    private static final byte[] SECRET = "hunter2".getBytes();

    private Channels() {
    }

    /** Answers one request of each connection. */
    private static void serve(ServerSocket server) {
        byte[] request = new byte[100];
        try {
            while (true) {
                try (Socket socket = server.accept()) {
                    socket.getOutputStream().write(request, 0, socket.getInputStream().read(request));
                }
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) throws Exception {
        ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Thread serving = new Thread(() -> serve(server));
        serving.setDaemon(true);
        serving.start();
        Path folder = Path.of(args[0]);
        for (int i = 0; i < 2; i++) {
            round(server.getLocalPort(), folder);
        }
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            int rounds = Integer.parseInt(line.substring("work ".length()));
            for (int i = 0; i < rounds; i++) {
                round(server.getLocalPort(), folder);
            }
            System.out.println("did " + rounds);
        }
        System.exit(0);
    }

    private static void round(int port, Path folder) throws IOException {
        InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
        try (Socket socket = new Socket()) {
            socket.connect(address);
            socket.getOutputStream().write(SECRET);
            socket.getInputStream().read(new byte[100]);
        }
        try (SocketChannel channel = SocketChannel.open(address)) {
            channel.write(ByteBuffer.wrap(SECRET));
            channel.read(ByteBuffer.allocate(100));
        }
        Path stream = folder.resolve("stream.bin");
        try (OutputStream out = new FileOutputStream(stream.toFile())) {
            out.write(SECRET);
        }
        try (InputStream in = new FileInputStream(stream.toFile())) {
            in.read(new byte[100]);
        }
        try (FileChannel channel = FileChannel.open(folder.resolve("channel.bin"), StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(SECRET));
            channel.read(ByteBuffer.allocate(100), 0);
        }
    }
}
