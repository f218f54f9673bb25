import groovy.lang.Binding;
import groovy.lang.GroovyShell;

/** Compiles and runs a Groovy script each round: classes that are made while the program runs, by loaders of their own. */
final class GroovyWork implements RealProgram.Work {
    private static final String SCRIPT = """
            class Order { String name; int amount; def methodMissing(String n, args) { "$n of $name" } }
            def orders = (1..n).collect { new Order(name: "order $it", amount: it * 7919 % 997) }
            def out = new StringBuilder()
            orders.groupBy { it.amount % 5 }.sort { it.key }.each { k, v -> out << "$k: ${v*.amount.sum()} ${v.max { it.amount }.name}\\n" }
            out << orders[3].anything(1, 2) << '\\n'
            try { orders[0].amount = 'text' } catch (e) { out << e.class.simpleName << '\\n' }
            String.metaClass.shout = { -> delegate.toUpperCase() + '!' }
            out << 'done'.shout() << '\\n'
            out.toString()
            """;

    @Override
    public String round() {
        Binding binding = new Binding();
        binding.setVariable("n", 60);
        return (String) new GroovyShell(binding).evaluate(SCRIPT, "Script.groovy");
    }
}
