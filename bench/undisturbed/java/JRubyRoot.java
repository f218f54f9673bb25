import org.jruby.embed.EmbedEvalUnit;
import org.jruby.embed.LocalContextScope;
import org.jruby.embed.ScriptingContainer;

/** A Ruby script that is parsed once. */
final class JRubyRoot implements Clocked.Program {
    private static final String SCRIPT = """
            words = (1..300).map { |i| "order #{i * 7919 % 997}" }
            counts = Hash.new(0)
            words.each { |w| w.each_char { |c| counts[c] += 1 } }
            sums = words.group_by { |w| w.length }.map { |k, v| [k, v.map { |w| w[6..-1].to_i }.sum] }
            (sums.sort.flatten + counts.sort.flatten).join(',')
            """;
    private final EmbedEvalUnit unit = new ScriptingContainer(LocalContextScope.SINGLETHREAD).parse(SCRIPT);

    @Override
    public void call() {
        long began = System.nanoTime();
        unit.run();
        Clocked.add(began);
    }
}
