package context

import (
	"fmt"
	"strings"
)

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

// forEach has the JDK call a lambda back.
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
