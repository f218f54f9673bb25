package context

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const header = "package app;\n\nimport support.*;\n\n"

// parameters are the same of all methods but lambdas.
const parameters = "int number, int amount, Order order, String text"

// fixedSources are the same in all programs.
var fixedSources = map[string]string{
	"Op.java":   header + "interface Op<T> {\nint apply(int number, int amount, T order, String text);\n}\n",
	"Step.java": header + "interface Step {\nint step(int x);\n}\n",
	"Call.java": header + "interface Call {\nint call(" + parameters + ");\n}\n",
}

func (g *generator) writeClass(c *class) string {
	var b strings.Builder
	b.WriteString(header)
	switch {
	case c.isInterface:
		fmt.Fprintf(&b, "public interface %s {\nint i%s(%s);\n", c.name, c.name[1:], parameters)
	default:
		fmt.Fprintf(&b, "public class %s%s {\n", c.name, c.heritage())
		if c.parent == nil {
			b.WriteString("public final int weight;\n")
		}
	}
	for _, m := range c.members {
		g.current = m
		b.WriteString(g.writeMember(m))
	}
	g.current = nil
	b.WriteString("}\n")
	return b.String()
}

func (c *class) heritage() string {
	text := ""
	if c.parent != nil {
		text = " extends " + c.parent.name
	}
	var faces []string
	for _, face := range c.interfaces {
		faces = append(faces, face.name)
	}
	if c.isGeneric {
		faces = append(faces, "Op<Order>")
	}
	if len(faces) > 0 {
		text += " implements " + strings.Join(faces, ", ")
	}
	return text
}

func (g *generator) writeMember(m *member) string {
	if m.kind == constructor {
		return g.writeConstructor(m)
	}
	modifier, weight := "public ", "weight"
	switch {
	case m.kind == static:
		modifier, weight = "public static ", "0"
	case m.class.isInterface:
		modifier, weight = "default ", "0"
	}
	return fmt.Sprintf("\n%sint %s(%s) {\nLog log = Log.enter(%d, number, amount, order, text, %s);\nint at = log.depth();\nint r = 1;\n%sreturn r;\n}\n",
		modifier, m.java, parameters, m.number, weight, g.writeBody(m))
}

// writeConstructor has one with a superclass of the program's say that it was entered
// before it calls that: in its arguments.
func (g *generator) writeConstructor(m *member) string {
	begin := fmt.Sprintf("Log.enter(%d, number, amount, order, text, 0);\nLog log = Log.born();\nweight = amount;\n", m.number)
	if m.class.parent != nil {
		begin = fmt.Sprintf("super(Log.unborn(%d, number, amount, order, text, 0), amount, order, text);\nLog log = Log.born();\n", m.number)
	}
	return fmt.Sprintf("\npublic %s(%s) {\n%sint at = log.depth();\nint r = 1;\n%s}\n", m.class.name, parameters, begin, g.writeBody(m))
}

// writeBody writes the calls of a method, with what it throws and catches.
func (g *generator) writeBody(m *member) string {
	var b strings.Builder
	b.WriteString("try {\n")
	b.WriteString(g.calls(1+g.IntN(2), 45, "log"))
	if g.IntN(3) > 0 {
		b.WriteString(g.handOff("log"))
	}
	if m.throws {
		b.WriteString("if (log.fails(12)) {\nthrow new Boom();\n}\n")
	}
	b.WriteString(g.calls(1+g.IntN(2), 40, "log"))
	if m.catches {
		fmt.Fprintf(&b, "} catch (Boom b) {\nlog.unwind(at);\n%s", g.calls(1, 70, "log"))
	}
	b.WriteString("} finally {\nlog.exit(at);\n}\n")
	return b.String()
}

// writeSplit writes the task that forks others and waits for them.
func (g *generator) writeSplit() string {
	i := slices.IndexFunc(g.members, func(m *member) bool { return m.kind == compute })
	m := g.members[i]
	g.current = m
	defer func() { g.current = nil }()
	forkForm := slices.IndexFunc(forms, func(f form) bool { return f.name == "fork" })
	return fmt.Sprintf(`%[1]spublic final class Split extends java.util.concurrent.RecursiveTask<Integer> {
private static final long serialVersionUID = 1L;
private final transient Task task;
private final int fan;

Split(Task task, int fan) {
this.task = task;
this.fan = fan;
}

@Override
protected Integer compute() {
Log log = task.begin(%[2]d);
int r = 1;
try {
if (fan > 0) {
Split one = new Split(log.made(%[3]d), fan - 1);
one.fork();
%[4]sSplit two = new Split(log.made(%[3]d), fan - 1);
two.fork();
%[5]sr += one.join() + two.join();
}
%[6]sreturn r;
} catch (Boom b) {
return 0;
} finally {
task.end(log);
}
}
}
`, header, m.number, forkForm, g.leaves(1, 70, "log"), g.leaves(1, 70, "log"), g.leaves(2, 70, "log"))
}

// writeStart writes the main class, which holds the objects and is in no pattern.
func (g *generator) writeStart() string {
	var b strings.Builder
	b.WriteString(header + "public final class Start {\n")
	const made = "0, %d, null, null"
	var ops []string
	for i, c := range g.classes {
		if c.isInterface || c.late {
			continue
		}
		fmt.Fprintf(&b, "static final %[1]s %[1]s = new %[1]s("+made+");\n", c.name, i*13)
		if c.isGeneric {
			ops = append(ops, c.name)
		}
	}
	fmt.Fprintf(&b, "@SuppressWarnings(\"unchecked\")\nstatic final Op<Order>[] OPS = new Op[] {%s};\n", strings.Join(ops, ", "))
	b.WriteString("static final java.util.List<Integer> TWICE = java.util.List.of(1, 2);\n")
	roots := g.roots()
	for _, name := range slices.Sorted(maps.Keys(g.fields)) {
		b.WriteString(g.fields[name] + "\n")
	}
	fmt.Fprintf(&b, "\npublic static void main(String[] args) throws Exception {\nWork.serve(Start::root);\n}\n\nstatic void root(Log log) {\nint r = 0;\nswitch (log.any(%d)) {\n", len(roots))
	for i, root := range roots {
		fmt.Fprintf(&b, "case %d:\n%sbreak;\n", i, root)
	}
	b.WriteString("default:\nthrow new IllegalStateException();\n}\n}\n}\n")
	return b.String()
}

// roots are the calls that the program begins with.
func (g *generator) roots() []string {
	var roots []string
	for range 8 {
		roots = append(roots, g.plain(g.target(), "log"))
	}
	return roots
}

// facts are what a call was given, as its log has it.
type facts struct {
	number, amount, weight int
	order                  *order
	text                   *string
}

// order is what testdata/support/Order.java has by the same number.
type order struct {
	amount   int
	tier     *string
	customer *customer
}

type customer struct {
	rank int
	name *string
}

const (
	orderCount = 12
	textCount  = 6
)

// words are the texts of the program; the first is null.
var words = [textCount]string{"", "gold", "silver", "bronze", "", "Ärger 中"}

func textAt(index int) *string {
	if index = index % textCount; index == 0 {
		return nil
	}
	return &words[index]
}

// orderAt is the order of a number as logs have it: 0 is none.
func orderAt(number int) *order {
	if number == 0 {
		return nil
	}
	return &orders[number-1]
}

var orders = func() (all [orderCount]order) {
	for i := range all {
		all[i] = order{amount: i * 37 % 101, tier: textAt(i)}
		if i%4 != 0 {
			all[i].customer = &customer{rank: i % 5, name: textAt(i + 1)}
		}
	}
	return all
}()
