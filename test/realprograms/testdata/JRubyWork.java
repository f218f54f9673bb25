import org.jruby.embed.LocalContextScope;
import org.jruby.embed.ScriptingContainer;

/** Runs a Ruby script each round in a runtime of its own, interpreted and then compiled. */
final class JRubyWork implements RealProgram.Work {
    private static final String SCRIPT = """
            class Order
              attr_reader :name, :amount
              def initialize(name, amount); @name, @amount = name, amount; end
              def method_missing(name, *args); "#{name} of #{@name}"; end
              def respond_to_missing?(*); true; end
            end
            orders = (1..200).map { |i| Order.new("order #{i}", i * 7919 % 997) }
            out = orders.group_by { |o| o.amount % 5 }.sort.map { |k, v| "#{k}: #{v.map(&:amount).sum} #{v.max_by(&:amount).name}" }
            out << orders[3].anything(1)
            begin; Integer('x'); rescue ArgumentError => e; out << e.message; end
            out << (1..30).inject(:*).to_s << 'abc'.gsub(/b/) { |m| m.upcase }
            out.join("\\n")
            """;
    private final ScriptingContainer container = new ScriptingContainer(LocalContextScope.SINGLETHREAD);

    @Override
    public String round() {
        return container.runScriptlet(SCRIPT).toString();
    }
}
