import java.io.BufferedReader;
import java.io.InputStreamReader;

/** For each line it reads it collects its garbage, then repeats the line. */
public class Collecting {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.gc();
            System.out.println("read " + line);
        }
    }
}
