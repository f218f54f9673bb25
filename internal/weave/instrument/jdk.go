package instrument

import (
	"maps"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/weave"
)

const switchesThreads = "it starts and switches virtual threads: a hook in it would not know on which thread it runs"

// exempt lists classes that must never get hooks, by internal name; a name that ends in
// / or * stands for all names with that prefix.
var exempt = []struct{ name, reason string }{
	{"java/lang/Thread", "hooks call it to find their thread"},
	{"java/lang/BaseVirtualThread", switchesThreads},
	{"java/lang/VirtualThread*", switchesThreads},
	{"java/lang/ThreadBuilders*", switchesThreads},
	{"jdk/internal/vm/Continuation*", switchesThreads},
	{"jdk/internal/vm/StackChunk*", switchesThreads},
	{"jdk/internal/vm/ThreadContainer*", switchesThreads},
	{"jdk/internal/vm/annotation/", "hooks use it"},
	{"jdk/internal/event/", "the flight recorder rewrites it, and the JVM prints a warning if the rewritten code is missing"},
	{"jdk/internal/misc/Unsafe", "hooks use it"},
	{"sun/misc/Unsafe", "hooks use it"},
	{"java/lang/Object", "every constructor calls it"},
	{"sun/instrument/", "it installs the hooks"},
	{"java/lang/instrument/", "it installs the hooks"},
	{"sonde/agent/", "it is Sonde's own"},
}

// Exemption returns why a class must not get hooks; "" where it may.
func Exemption(class string) string {
	if isHooksClass(class) {
		return "it is Sonde's own"
	}
	for _, e := range exempt {
		prefix, isPrefix := strings.CutSuffix(e.name, "*")
		if class == e.name || (isPrefix || strings.HasSuffix(e.name, "/")) && strings.HasPrefix(class, prefix) {
			return e.reason
		}
	}
	return ""
}

func isHooksClass(class string) bool {
	return agent.IsHookClass(class)
}

// reflective lists the JDK's methods that call by reflection or make method handles, by
// class. Where a JDK has the first, the second calls it.
var reflective = map[string]struct {
	methods []string
	handles bool // it makes handles; otherwise it calls by reflection
}{
	"java/lang/reflect/Method":            {methods: []string{"invoke"}},
	"java/lang/reflect/Constructor":       {methods: []string{"newInstanceWithCaller", "newInstance"}},
	"java/lang/invoke/DirectMethodHandle": {methods: []string{"make"}, handles: true},
}

// ReflectiveClasses returns the classes that Request.Reflection puts hooks into.
func ReflectiveClasses() []string { return slices.Collect(maps.Keys(reflective)) }

// reflectionTemplate returns the template that reports what a reflective method is about
// to call; nil for other methods. A call that is reported twice is counted once.
func (w *Weaver) reflectionTemplate(m classfile.MethodRef) *weave.Template {
	for _, name := range reflective[m.Class].methods {
		switch {
		case name != m.Name:
		case !reflective[m.Class].handles:
			return w.templates.reflect
		case strings.HasPrefix(m.Descriptor, "(BLjava/lang/Class;Ljava/lang/invoke/MemberName;"): // 8 has no further parameter
			return w.templates.handle
		}
	}
	return nil
}

// A HandOffMethod is a method of the JDK through which a task goes from one thread to
// another. The template woven around it makes the task carry its context, or resumes it.
type HandOffMethod struct {
	Way                     string // what is not followed without it, for messages
	class, name, descriptor string // as in class files; an empty descriptor stands for all methods of the name
	Since                   int    // the first JDK that has it; 0 for all
	template                func() (class []byte, method string)
}

// Class returns the internal name of the method's class.
func (h *HandOffMethod) Class() string { return h.class }

// String returns the method as messages show it.
func (h *HandOffMethod) String() string {
	return strings.ReplaceAll(h.class, "/", ".") + "." + h.name + h.descriptor
}

func (h *HandOffMethod) matches(m classfile.MethodRef) bool {
	return h.class == m.Class && h.name == m.Name && (h.descriptor == "" || h.descriptor == m.Descriptor)
}

// IsHandOff reports whether tasks go through methods of a class.
func IsHandOff(class string) bool {
	return slices.ContainsFunc(handOffMethods, func(m HandOffMethod) bool { return m.class == class })
}

// HandOffClasses returns the classes through which tasks go.
func HandOffClasses() (classes []string) {
	for i := range handOffMethods {
		classes = append(classes, handOffMethods[i].class)
	}
	slices.Sort(classes)
	return slices.Compact(classes)
}

// HandOffMethods returns the methods of a class through which tasks go.
func HandOffMethods(class string) (methods []*HandOffMethod) {
	for i := range handOffMethods {
		if handOffMethods[i].class == class {
			methods = append(methods, &handOffMethods[i])
		}
	}
	return methods
}

// HasHandOff reports whether a hand-off method has its hook.
func (o *Outcome) HasHandOff(h *HandOffMethod) bool {
	return slices.ContainsFunc(o.Methods, func(m Method) bool { return m.HandOff && h.matches(m.MethodRef) })
}

// handOffTemplate returns the template of a method through which tasks go; nil for other
// methods.
func (w *Weaver) handOffTemplate(m classfile.MethodRef) *weave.Template {
	for i := range handOffMethods {
		if handOffMethods[i].matches(m) {
			return w.templates.handOff[i]
		}
	}
	return nil
}

// The ways in which tasks go from thread to thread, for messages.
const (
	byFutures    = "what is submitted to an executor"
	byPools      = "what a thread pool executes"
	byForking    = "tasks of fork-join pools"
	byCompletion = "stages of a CompletableFuture"
	byVirtual    = "virtual threads"
	byStarting   = "threads that the program starts"
)

const (
	tryFire       = "(I)Ljava/util/concurrent/CompletableFuture;"
	runnable      = "(Ljava/lang/Runnable;)V"
	concurrent    = "java/util/concurrent/"
	completable   = concurrent + "CompletableFuture$"
	newVirtual    = "(Ljava/util/concurrent/Executor;Ljava/lang/String;ILjava/lang/Runnable;)Ljava/lang/Thread;"
	firstVirtual  = 19 // as a preview
	firstComposed = 12 // exceptionallyCompose
)

// handOffMethods lists the hand-off methods (docs/formats/arena.md, Handing on). Where
// each task object is one piece of work, the task carries the context; where a pool takes
// any object, the pool does. ForkJoinTask.doExec returns an int in JDK 17 and nothing in
// 25, so its descriptor is left open.
var handOffMethods = []HandOffMethod{
	{Way: byFutures, class: concurrent + "FutureTask", name: "<init>", template: agent.CarryTemplate},
	{Way: byFutures, class: concurrent + "FutureTask", name: "run", descriptor: "()V", template: agent.ResumeTemplate},
	{Way: byFutures, class: concurrent + "FutureTask", name: "runAndReset", descriptor: "()Z", template: agent.AgainTemplate},

	{Way: byForking, class: concurrent + "ForkJoinTask", name: "<init>", descriptor: "()V", template: agent.CarryTemplate},
	{Way: byForking, class: concurrent + "ForkJoinTask", name: "doExec", template: agent.ResumeTemplate},

	{Way: byPools, class: concurrent + "ThreadPoolExecutor", name: "execute", descriptor: runnable, template: agent.SubmitTemplate},
	{Way: byPools, class: concurrent + "ThreadPoolExecutor", name: "reject", descriptor: runnable, template: agent.WithdrawTemplate},
	{Way: byPools, class: concurrent + "ThreadPoolExecutor", name: "runWorker", template: agent.WorkTemplate},
	{Way: byPools, class: concurrent + "ThreadPoolExecutor", name: "getTask", descriptor: "()Ljava/lang/Runnable;", template: agent.NextTemplate},

	{Way: byVirtual, class: "java/lang/ThreadBuilders", name: "newVirtualThread", descriptor: newVirtual, Since: firstVirtual, template: agent.MadeTemplate},

	{Way: byStarting, class: "java/lang/Thread", name: "start", descriptor: "()V", template: agent.StartTemplate},
	{Way: byStarting, class: "java/lang/Thread", name: "start", descriptor: "(Ljdk/internal/vm/ThreadContainer;)V", Since: firstVirtual, template: agent.StartTemplate},

	// Executors of other kinds run these by themselves.
	{Way: byCompletion, class: completable + "AsyncSupply", name: "run", descriptor: "()V", template: agent.ResumeTemplate},
	{Way: byCompletion, class: completable + "AsyncRun", name: "run", descriptor: "()V", template: agent.ResumeTemplate},

	// All kinds of completions with a function of the program.
	{Way: byCompletion, class: completable + "UniApply", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{Way: byCompletion, class: completable + "UniAccept", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{Way: byCompletion, class: completable + "UniRun", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{Way: byCompletion, class: completable + "UniWhenComplete", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{Way: byCompletion, class: completable + "UniHandle", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{Way: byCompletion, class: completable + "UniExceptionally", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{Way: byCompletion, class: completable + "UniComposeExceptionally", name: "tryFire", descriptor: tryFire, Since: firstComposed, template: agent.FireTemplate},
	{Way: byCompletion, class: completable + "UniCompose", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{Way: byCompletion, class: completable + "BiApply", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{Way: byCompletion, class: completable + "BiAccept", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{Way: byCompletion, class: completable + "BiRun", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{Way: byCompletion, class: completable + "OrApply", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{Way: byCompletion, class: completable + "OrAccept", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{Way: byCompletion, class: completable + "OrRun", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
}
