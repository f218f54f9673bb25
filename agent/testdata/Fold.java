package texts;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/** Folds texts: a line has "sql", "path" or "trace" and a text in Base64, the answer has the folded one. */
public final class Fold {
    private static final int PENDING = 250;

    private Fold() {
    }

    /** Keys of some objects that are used again, among very many that are used once. */
    private static int keep() {
        SondeHooksTexts.begin();
        Object[] lasting = new Object[1000];
        for (int i = 0; i < lasting.length; i++) {
            lasting[i] = new Object();
            SondeHooksTexts.keepFor(lasting[i], "lasting " + i);
            SondeHooksTexts.keyOf(lasting[i]);
            SondeHooksTexts.keyOf(lasting[i]);
        }
        Object[] brief = new Object[200_000];
        for (int i = 0; i < brief.length; i++) {
            brief[i] = new Object();
            SondeHooksTexts.keepFor(brief[i], "brief");
            if (SondeHooksTexts.keyOf(brief[i]) != "brief") {
                return -1;
            }
        }
        for (int from = 0; from < brief.length; from += PENDING) { // many are prepared before they are used
            for (int i = 0; i < PENDING; i++) {
                brief[from + i] = new Object();
                SondeHooksTexts.keepFor(brief[from + i], "pending");
            }
            for (int i = 0; i < PENDING; i++) {
                if (SondeHooksTexts.keyOf(brief[from + i]) != "pending") {
                    return -2;
                }
            }
        }
        int kept = 0;
        for (int i = 0; i < lasting.length; i++) {
            kept += ("lasting " + i).equals(SondeHooksTexts.keyOf(lasting[i])) ? 1 : 0;
        }
        return kept;
    }

    public static void main(String[] args) throws Exception {
        SondeHooksTexts.prepare();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", -1);
            if (words[0].equals("keep")) {
                System.out.println("kept " + keep());
                continue;
            }
            String text = new String(Base64.getDecoder().decode(words[1]), StandardCharsets.UTF_8);
            String folded = words[0].equals("sql") ? SondeHooksTexts.foldStatement(text) : SondeHooksTexts.foldPath(text);
            if (words[0].equals("trace")) {
                folded = "" + SondeHooksTexts.trace(text);
            }
            System.out.println("folded " + Base64.getEncoder().encodeToString(folded.getBytes(StandardCharsets.UTF_8)));
        }
    }
}
