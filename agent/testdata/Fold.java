package texts;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/** Folds texts: a line has "sql" or "path" and a text in Base64, the answer has the folded one. */
public final class Fold {
    private Fold() {
    }

    public static void main(String[] args) throws Exception {
        SondeHooksTexts.prepare();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", -1);
            String text = new String(Base64.getDecoder().decode(words[1]), StandardCharsets.UTF_8);
            String folded = words[0].equals("sql") ? SondeHooksTexts.foldStatement(text) : SondeHooksTexts.foldPath(text);
            System.out.println("folded " + Base64.getEncoder().encodeToString(folded.getBytes(StandardCharsets.UTF_8)));
        }
    }
}
