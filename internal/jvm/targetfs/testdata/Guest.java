import java.io.*;
import java.net.*;
import java.nio.MappedByteBuffer;
import java.nio.channels.*;
import java.nio.file.*;
import java.util.*;

/** Does in a target what an agent would do, one line of its input after the other. */
public class Guest {
    static MappedByteBuffer mapped;

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            try {
                System.out.println("did " + act(words));
            } catch (Exception e) {
                System.out.println("did not " + e);
            }
        }
    }

    static String act(String[] words) throws Exception {
        switch (words[0]) {
            case "unix":
                try (SocketChannel c = SocketChannel.open(UnixDomainSocketAddress.of(words[1]))) {
                    c.write(java.nio.ByteBuffer.wrap("hello".getBytes()));
                }
                return "dial";
            case "tcp":
                try (Socket s = new Socket("127.0.0.1", Integer.parseInt(words[1]))) {
                    s.getOutputStream().write("hello".getBytes());
                }
                return "dial";
            case "properties": {
                Properties p = new Properties();
                try (InputStream file = new FileInputStream(words[1])) {
                    p.load(file);
                }
                StringBuilder text = new StringBuilder();
                for (char c : new TreeMap<>(p).toString().toCharArray()) {
                    text.append(c < 127 && c >= 32 ? "" + c : "<" + (int) c + ">");
                }
                return text.toString();
            }
            case "map":
                try (RandomAccessFile file = new RandomAccessFile(words[1], "rw")) {
                    mapped = file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, Long.parseLong(words[2]));
                }
                mapped.putLong(0, 4711);
                return "map";
            case "take": {
                Path invitation = Paths.get("/tmp/.sonde_invite" + ProcessHandle.current().pid());
                while (!Files.exists(invitation)) {
                    Thread.sleep(1);
                }
                String text = String.join("|", Files.readAllLines(invitation));
                Files.delete(invitation);
                return text;
            }
            case "jar":
                try (java.util.jar.JarFile jar = new java.util.jar.JarFile(words[1])) {
                    return "" + jar.size();
                }
        }
        throw new IllegalArgumentException(words[0]);
    }
}
