import java.io.ByteArrayInputStream;
import java.io.IOException;

class Resources {
    static int read(byte[] data) throws IOException {
        try (ByteArrayInputStream a = new ByteArrayInputStream(data);
                ByteArrayInputStream b = new ByteArrayInputStream(data)) {
            return a.read() + b.read();
        }
    }
}
