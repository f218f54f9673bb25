package context

import (
	"fmt"
	"strings"
)

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
