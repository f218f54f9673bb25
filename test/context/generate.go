package context

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// program is a generated one: its methods, who may call whom, and its source.
type program struct {
	seed    uint64
	methods []*method             // by number
	callees map[*method][]*method // as its source has them, for sequences that are likely
	source  map[string]string     // by file
}

// The kinds of methods, which say how one is called.
type kind uint8

const (
	static kind = iota
	virtual
	byInterface // default methods, and those that classes implement
	generic     // with a bridge before it
	constructor
	lambda
	compute // of a task that forks
)

// class is a Java class or interface.
type class struct {
	name        string // without its package
	parent      *class
	isInterface bool
	late        bool // not loaded before the program works
	interfaces  []*class
	isGeneric   bool
	members     []*member
}

// member is a method with code. Lambdas are members of no class of theirs: they are
// made inside others.
type member struct {
	*method
	class    *class
	java     string // its name in the source
	declares *class // of a virtual one, the class that has it first
	throws   bool
	catches  bool
}

// generator makes a program of a seed.
type generator struct {
	*rand.Rand
	program *program
	classes []*class
	byName  map[string]*method
	members []*member         // all but lambdas
	fields  map[string]string // of class Start, by name: how they are declared
	current *member           // what is being written
	locals  int
	form    int   // the hand-off that is being written
	forms   []int // those to be written next
}

// The package of what is generated. Patterns begin with it.
const appPackage = "app."

// generate makes the program of a seed; the same one each time.
func generate(seed uint64) *program {
	g := &generator{
		Rand:    rand.New(rand.NewPCG(seed, 6)),
		program: &program{seed: seed, callees: make(map[*method][]*method), source: make(map[string]string)},
		byName:  make(map[string]*method),
		fields:  make(map[string]string),
	}
	g.makeInterfaces()
	g.makeClasses()
	g.makeSplit()
	for _, c := range g.classes {
		g.program.source[c.name+".java"] = g.writeClass(c)
	}
	g.program.source["Split.java"] = g.writeSplit()
	maps.Copy(g.program.source, fixedSources)
	g.program.source["Start.java"] = g.writeStart()
	return g.program
}

// number gives a method its number. All lambdas that are made in one method count as
// one: compilers number them as they like.
func (g *generator) number(kind kind, class, name string) *method {
	key := class + "." + name
	if m := g.byName[key]; m != nil {
		return m
	}
	m := &method{number: len(g.program.methods), class: appPackage + class, name: name, kind: kind}
	g.program.methods = append(g.program.methods, m)
	g.byName[key] = m
	return m
}

func (g *generator) add(c *class, kind kind, name string) *member {
	m := &member{
		method: g.number(kind, c.name, name), class: c, java: name, declares: c,
		throws: g.IntN(4) == 0, catches: g.IntN(5) < 2,
	}
	c.members = append(c.members, m)
	g.members = append(g.members, m)
	return m
}

func (g *generator) makeInterfaces() {
	for i := range 2 {
		c := &class{name: fmt.Sprintf("I%d", i), isInterface: true}
		g.classes = append(g.classes, c)
		for j := range 2 {
			g.add(c, byInterface, fmt.Sprintf("d%d%d", i, j))
		}
	}
}

func (g *generator) makeClasses() {
	interfaces := slices.Clone(g.classes)
	const all, late = 7, 2
	for i := range all {
		c := &class{name: fmt.Sprintf("C%d", i), late: i >= all-late}
		g.classes = append(g.classes, c)
		for j := range 2 {
			g.add(c, static, fmt.Sprintf("s%d%d", i, j))
		}
		g.add(c, constructor, "<init>")
		if c.late {
			continue
		}
		if i > 0 && g.IntN(2) == 0 {
			c.parent = g.classes[len(interfaces)+g.IntN(i)]
		}
		g.inherit(c)
		g.add(c, virtual, fmt.Sprintf("v%d", i))
		for j, face := range interfaces {
			if i == 0 || g.IntN(2) == 0 {
				c.interfaces = append(c.interfaces, face)
				g.add(c, byInterface, fmt.Sprintf("i%d", j)).declares = face
			}
		}
		if i == 0 || g.IntN(3) == 0 {
			c.isGeneric = true
			g.add(c, generic, "apply")
		}
	}
}

// inherit overrides some of the methods that classes above have.
func (g *generator) inherit(c *class) {
	seen := make(map[string]bool)
	for above := c.parent; above != nil; above = above.parent {
		for _, m := range above.members {
			if m.kind == virtual && !seen[m.java] {
				seen[m.java] = true
				if g.IntN(3) > 0 {
					g.add(c, virtual, m.java).declares = m.declares
				}
			}
		}
	}
}

// makeSplit makes the task that forks. Its class is none that patterns with a wildcard
// name: what its constructor does belongs to the JDK.
func (g *generator) makeSplit() {
	g.add(&class{name: "Split"}, compute, "compute")
}

// isBelow reports whether a class is another or below it.
func (c *class) isBelow(other *class) bool {
	for ; c != nil; c = c.parent {
		if c == other || slices.Contains(c.interfaces, other) {
			return true
		}
	}
	return false
}

func pick[T any](g *rand.Rand, from []T) T { return from[g.IntN(len(from))] }

// given are the arguments of a call that is made by a log's choice.
func given(log string) string {
	return fmt.Sprintf("%[1]s.number(), %[1]s.amount(), %[1]s.order(), %[1]s.text()", log)
}

// calls writes some call sites, for a body whose log is a variable of this name.
func (g *generator) calls(sites, percent int, log string) string {
	var b strings.Builder
	for range sites {
		fmt.Fprintf(&b, "if (%s.go(%d)) {\n%s}\n", log, percent, g.call(log))
	}
	return b.String()
}

// call writes one call, of any kind.
func (g *generator) call(log string) string {
	switch g.IntN(12) {
	case 0, 1:
		return g.byReflection(log)
	case 2:
		return g.byHandle(log)
	case 3:
		return g.byReference(log)
	case 4:
		return g.step()
	case 5:
		return g.forEach(log)
	case 6:
		if g.current != nil && g.current.kind == static {
			return g.plain(g.current, log) // recursion
		}
	}
	return g.plain(g.target(), log)
}

// target chooses what is called.
func (g *generator) target() *member {
	for {
		if m := pick(g.Rand, g.members); m.kind != compute {
			return m
		}
	}
}

// early is a target whose class may be loaded when the program starts.
func (g *generator) early() *member {
	for {
		if m := g.target(); !m.class.late {
			return m
		}
	}
}

// edge notes that what is being written may call a method.
func (g *generator) edge(to *member) {
	if g.current != nil {
		g.program.callees[g.current.method] = append(g.program.callees[g.current.method], to.method)
	}
}

// plain writes a call as programs mostly do.
func (g *generator) plain(m *member, log string) string {
	g.edge(m)
	switch m.kind {
	case constructor:
		return fmt.Sprintf("r += new %s(%s).hashCode() & 1;\n", m.class.name, given(log))
	case static:
		return fmt.Sprintf("r += %s.%s(%s);\n", m.class.name, m.java, given(log))
	}
	if g.current != nil && g.current.kind == virtual && g.current.declares != g.current.class && g.current.class.parent != nil && g.IntN(2) == 0 {
		return fmt.Sprintf("r += super.%s(%s);\n", g.current.java, given(log))
	}
	return fmt.Sprintf("r += %s.%s(%s);\n", g.receiver(m, log), m.java, given(log))
}

// receiver is an object that has a method; which, the program chooses each time.
func (g *generator) receiver(m *member, log string) string {
	if m.kind == generic {
		return fmt.Sprintf("Start.OPS[%s.any(Start.OPS.length)]", log)
	}
	name := strings.ToUpper(m.declares.name) + "S"
	g.fields[name] = g.objects(m.declares, name)
	return fmt.Sprintf("Start.%[1]s[%[2]s.any(Start.%[1]s.length)]", name, log)
}

func (g *generator) objects(c *class, name string) string {
	var all []string
	for _, other := range g.classes {
		if !other.isInterface && !other.late && other.isBelow(c) {
			all = append(all, "Start."+other.name)
		}
	}
	return fmt.Sprintf("static final %s[] %s = {%s};", c.name, name, strings.Join(all, ", "))
}

// byReflection has no frames of its own between the two methods.
func (g *generator) byReflection(log string) string {
	m := g.early()
	g.edge(m)
	field := fmt.Sprintf("M%d", m.number)
	var call string
	switch m.kind {
	case constructor:
		g.fields[field] = fmt.Sprintf("static final java.lang.reflect.Constructor<?> %s = Mirror.constructor(%s.class);", field, m.class.name)
		call = fmt.Sprintf("r += Start.%s.newInstance(%s).hashCode() & 1;", field, given(log))
	default:
		receiver := "null"
		if m.kind != static {
			receiver = g.receiver(m, log)
		}
		owner := m.declares.name
		if m.kind == generic {
			receiver = "Start." + m.class.name
			owner = m.class.name
		} else if m.kind == byInterface && !m.class.isInterface {
			receiver, owner = "Start."+m.class.name, m.class.name
		}
		g.fields[field] = fmt.Sprintf("static final java.lang.reflect.Method %s = Mirror.method(%s.class, %q);", field, owner, m.java)
		call = fmt.Sprintf("r += (Integer) Start.%s.invoke(%s, %s);", field, receiver, given(log))
	}
	return fmt.Sprintf("try {\n%s\n} catch (ReflectiveOperationException e) {\nthrow Boom.of(e);\n}\n", call)
}

// byHandle calls through frames that are hidden.
func (g *generator) byHandle(log string) string {
	m := g.early()
	for m.kind != static {
		m = g.early()
	}
	g.edge(m)
	field := fmt.Sprintf("H%d", m.number)
	g.fields[field] = fmt.Sprintf("static final java.lang.invoke.MethodHandle %s = Mirror.handle(%s.class, %q);", field, m.class.name, m.java)
	return fmt.Sprintf("try {\nr += (int) Start.%s.invokeExact(%s);\n} catch (Throwable t) {\nthrow Boom.of(t);\n}\n", field, given(log))
}

// byReference calls a method reference, whose class is hidden.
func (g *generator) byReference(log string) string {
	m := g.target()
	for m.kind != static {
		m = g.target()
	}
	g.edge(m)
	local := g.local("call")
	return fmt.Sprintf("Call %[1]s = %[2]s::%[3]s;\nr += %[1]s.call(%[4]s);\n", local, m.class.name, m.java, given(log))
}

// step calls a lambda of its own: a frame directly below.
func (g *generator) step() string {
	local := g.local("step")
	return fmt.Sprintf("Step %[1]s = x -> {\n%sreturn x;\n};\nr += %[1]s.step(1);\n", local, g.lambdaBody())
}

// forEach makes the JDK call a lambda back.
func (g *generator) forEach(log string) string {
	at := g.local("callback")
	return fmt.Sprintf("int %s = %s.callback();\nStart.TWICE.forEach(x -> {\n%s});\n%s.exit(%s);\n", at, log, g.lambdaBody(), log, at)
}

// lambdaBody writes what a lambda does that runs on the thread that made it.
func (g *generator) lambdaBody() string {
	body, m, log := g.lambda(func(log string) string { return g.leaves(2, 60, log) })
	return fmt.Sprintf("Log %[1]s = Log.enter(%[2]d, 0, 0, null, null, 0);\nint at%[1]s = %[1]s.depth();\n%[3]s", log, m.number, inside(log, "at"+log, body))
}

// inside writes a body that ends by leaving its frame. Its variable r is its own.
func inside(log, at, body string) string {
	return fmt.Sprintf("int[] sum%[1]s = {0};\ntry {\n%[3]s} finally {\n%[1]s.exit(%[2]s);\n}\n", log, at, strings.ReplaceAll(body, "r += ", "sum"+log+"[0] += "))
}

// lambda numbers a lambda of what is being written, and writes its body.
func (g *generator) lambda(write func(log string) string) (body string, m *method, log string) {
	enclosing := g.current
	name := "lambda$" + strings.Replace(enclosing.java, "<init>", "new", 1) + "$*"
	inner := &member{method: g.number(lambda, enclosing.class.name, name), class: enclosing.class, java: name, declares: enclosing.class}
	g.edge(inner)
	g.current = inner
	defer func() { g.current = enclosing }()
	log = g.local("in")
	return write(log), inner.method, log
}

// leaves are calls without lambdas of their own, or bodies would never end.
func (g *generator) leaves(sites, percent int, log string) string {
	var b strings.Builder
	for range sites {
		write := func() string { return g.plain(g.target(), log) }
		if g.IntN(4) == 0 {
			write = func() string { return g.byReflection(log) }
		}
		fmt.Fprintf(&b, "if (%s.go(%d)) {\n%s}\n", log, percent, write())
	}
	return b.String()
}

func (g *generator) local(name string) string {
	g.locals++
	return fmt.Sprintf("%s%d", name, g.locals)
}

// form is a way of handing over. Its number is in the log, for people.
type form struct {
	name  string
	write func(g *generator, log string) string
}

// forms are all there are.
var forms []form

func init() {
	forms = []form{
		{"submit", (*generator).submit}, {"execute", (*generator).execute}, {"caller runs", (*generator).narrow},
		{"invokeAll", (*generator).invokeAll}, {"schedule", (*generator).schedule}, {"scheduleAtFixedRate", (*generator).periodic},
		{"supplyAsync, thenApply", (*generator).supply}, {"supplyAsync in a pool, thenApplyAsync", (*generator).supplyInPool},
		{"thenCombine", (*generator).combine}, {"runAsync", (*generator).runAsync},
		{"promise", (*generator).promise}, {"fulfil", (*generator).fulfil},
		{"fork", (*generator).split}, {"fork and join", (*generator).splitAndWait}, {"ForkJoinPool.submit", (*generator).forkLambda},
		{"virtual thread per task", (*generator).perTask}, {"startVirtualThread", (*generator).startVirtual},
		{"Thread.start", (*generator).startThread},
	}
}

// handOff writes a hand-off. Every program has all forms, if it has room for them. A
// task may need any thread of its pool, so that only threads that run none wait.
func (g *generator) handOff(log string) string {
	if len(g.forms) == 0 {
		g.forms = g.Perm(len(forms))
	}
	g.form, g.forms = g.forms[0], g.forms[1:]
	return fmt.Sprintf("if (%s.mayHandOff(7)) {\n%s}\n", log, forms[g.form].write(g, log))
}

// task writes what makes a task, and the body of the lambda that runs it.
func (g *generator) task(log string) (made, body string) {
	task := g.local("task")
	body, m, in := g.lambda(func(log string) string { return g.leaves(2, 75, log) })
	made = fmt.Sprintf("Task %s = %s.made(%d);\n", task, log, g.form)
	return made, fmt.Sprintf("Log %[1]s = %[2]s.begin(%[3]d);\nint[] sum%[1]s = {0};\ntry {\n%[4]s} catch (Boom b) {\nsum%[1]s[0]++;\n} finally {\n%[2]s.end(%[1]s);\n}\n",
		in, task, m.number, strings.ReplaceAll(body, "r += ", "sum"+in+"[0] += "))
}

func (g *generator) submit(log string) string {
	made, body := g.task(log)
	return fmt.Sprintf("%sPools.FIXED.submit(() -> {\n%s});\n", made, body)
}

func (g *generator) execute(log string) string {
	made, body := g.task(log)
	return fmt.Sprintf("%sPools.FIXED.execute(() -> {\n%s});\n", made, body)
}

func (g *generator) narrow(log string) string {
	made, body := g.task(log)
	return fmt.Sprintf("%sPools.NARROW.%s(() -> {\n%s});\n", made, pick(g.Rand, []string{"execute", "submit"}), body)
}

func (g *generator) perTask(log string) string {
	made, body := g.task(log)
	return fmt.Sprintf("%sPools.VIRTUAL.submit(() -> {\n%s});\n", made, body)
}

func (g *generator) startVirtual(log string) string {
	made, body := g.task(log)
	return fmt.Sprintf("%sPools.startVirtual(() -> {\n%s});\n", made, body)
}

func (g *generator) startThread(log string) string {
	made, body := g.task(log)
	return fmt.Sprintf("%sPools.start(%s.any(8), () -> {\n%s});\n", made, log, body)
}

func (g *generator) forkLambda(log string) string {
	made, body := g.task(log)
	return fmt.Sprintf("%sPools.FORKS.submit(() -> {\n%s});\n", made, body)
}

func (g *generator) invokeAll(log string) string {
	first, a := g.task(log)
	second, b := g.task(log)
	return fmt.Sprintf(`if (%s.mayWait()) {
%s%stry {
Pools.FIXED.invokeAll(java.util.List.<java.util.concurrent.Callable<Integer>>of(() -> {
%sreturn 1;
}, () -> {
%sreturn 2;
}));
} catch (InterruptedException e) {
throw new IllegalStateException(e);
}
}
`, log, first, second, a, b)
}

func (g *generator) schedule(log string) string {
	made, body := g.task(log)
	return fmt.Sprintf("%sPools.SCHEDULED.schedule(() -> {\n%s}, 1, java.util.concurrent.TimeUnit.MICROSECONDS);\n", made, body)
}

// periodic runs three times; an exception is how it ends itself.
func (g *generator) periodic(log string) string {
	made, body := g.task(log)
	task := strings.Fields(made)[1]
	body = strings.Replace(body, task+".end(", "if ("+task+".endOne(", 1)
	at := strings.LastIndex(body, ");\n}\n")
	body = body[:at] + ", 3)) {\nthrow new Boom();\n}\n}\n"
	return fmt.Sprintf("%sPools.SCHEDULED.scheduleAtFixedRate(() -> {\n%s}, 0, 1, java.util.concurrent.TimeUnit.MICROSECONDS);\n", made, body)
}

const future = "java.util.concurrent.CompletableFuture"

// usual is mostly a pool, and now and then what futures use by themselves: on small
// machines that is a thread for each task, of which Sonde has no room for thousands at
// once.
func usual(log string) string { return log + ".any(8) == 0 ? Pools.USUAL : Pools.FIXED" }

func (g *generator) supply(log string) string {
	first, a := g.task(log)
	second, b := g.task(log)
	local := g.local("future")
	return fmt.Sprintf("%s%s<Integer> %s = %s.supplyAsync(() -> {\n%sreturn 1;\n}, %s);\n%s%s.thenApply(x -> {\n%sreturn x;\n});\n",
		first, future, local, future, a, usual(log), second, local, b)
}

func (g *generator) supplyInPool(log string) string {
	first, a := g.task(log)
	second, b := g.task(log)
	local := g.local("future")
	executor := pick(g.Rand, []string{usual(log), "Pools.FIXED", "Pools.FORKS"})
	return fmt.Sprintf("%s%s<Integer> %s = %s.supplyAsync(() -> {\n%sreturn 1;\n}, Pools.FIXED);\n%s%s.thenApplyAsync(x -> {\n%sreturn x;\n}, %s);\n",
		first, future, local, future, a, second, local, b, executor)
}

func (g *generator) combine(log string) string {
	first, a := g.task(log)
	second, b := g.task(log)
	third, c := g.task(log)
	one, two := g.local("future"), g.local("future")
	return fmt.Sprintf("%s%s%s%s<Integer> %s = %s.supplyAsync(() -> {\n%sreturn 1;\n}, Pools.FORKS);\n%s<Integer> %s = %s.supplyAsync(() -> {\n%sreturn 1;\n}, Pools.FIXED);\n%s.thenCombine(%s, (x, y) -> {\n%sreturn x + y;\n});\n",
		first, second, third, future, one, future, a, future, two, future, b, one, two, c)
}

func (g *generator) runAsync(log string) string {
	made, body := g.task(log)
	local := g.local("future")
	return fmt.Sprintf("%s%s<Void> %s = %s.runAsync(() -> {\n%s}, Pools.FIXED);\nif (%s.mayWait()) {\n%s.join();\n}\n",
		made, future, local, future, body, log, local)
}

// promise has another method, on any thread, run what follows a future.
func (g *generator) promise(log string) string {
	first, a := g.task(log)
	second, b := g.task(log)
	local := g.local("promise")
	return fmt.Sprintf("%s%s<Integer> %s = Pools.promise();\n%s.thenApply(x -> {\n%sreturn x;\n});\n%s%s.thenApplyAsync(x -> {\n%sreturn x;\n}, Pools.FIXED);\nPools.offer(%s);\n",
		first, future, local, local, a, second, local, b, local)
}

func (g *generator) fulfil(string) string { return "Pools.fulfil();\n" }

func (g *generator) split(log string) string {
	g.edgeToSplit()
	return fmt.Sprintf("Pools.FORKS.execute(new Split(%s.made(%d), 1));\n", log, g.form)
}

func (g *generator) splitAndWait(log string) string {
	g.edgeToSplit()
	return fmt.Sprintf("if (%[1]s.mayWait()) {\nr += Pools.FORKS.invoke(new Split(%[1]s.made(%[2]d), 2)) & 1;\n}\n", log, g.form)
}

func (g *generator) edgeToSplit() {
	for _, m := range g.members {
		if m.kind == compute {
			g.edge(m)
		}
	}
}
