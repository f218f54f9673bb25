package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// A handOffMethod is a method of the JDK through which a task goes from one thread to
// another: the template woven around it has the task carry its context, or take it up.
type handOffMethod struct {
	way                     string // what is not followed without it, for people
	class, name, descriptor string // as class files have them; all of the name where descriptor is empty
	since, until            int    // the JDKs that have it, the first and the last; 0 where there is no such
	template                func() (class []byte, method string)
}

// HandOffClasses are the classes of those methods.
func HandOffClasses() (classes []string) {
	for i := range handOffMethods {
		classes = append(classes, handOffMethods[i].class)
	}
	slices.Sort(classes)
	return slices.Compact(classes)
}

func isHandOff(class string) bool {
	return slices.ContainsFunc(handOffMethods, func(m handOffMethod) bool { return m.class == class })
}

// isOf reports whether a method of the class is the one that is meant.
func (h *handOffMethod) isOf(name, descriptor string) bool {
	return h.name == name && (h.descriptor == "" || h.descriptor == descriptor)
}

// handing is the template that a method gets because tasks go through it; nil for
// other methods.
func (w *workshop) handing(m weave.MethodInfo) *weave.Template {
	if !w.choices.hands(m.Class) {
		return nil
	}
	for i := range handOffMethods {
		if h := &handOffMethods[i]; h.class == m.Class && h.isOf(m.Name, m.Descriptor) {
			return w.templates.handOff[i]
		}
	}
	return nil
}

// hands reports whether tasks are to carry their context through methods of a class.
func (c *choices) hands(class string) bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.handOff && isHandOff(class)
}

// startHandOff has tasks carry their context. Classes that are loaded are owed from
// then on; others are shown as they load.
func (s *Session) startHandOff(ctx context.Context, wanted bool) error {
	s.choices.lock.Lock()
	isNew := wanted && !s.choices.handOff
	s.choices.handOff = s.choices.handOff || wanted
	s.choices.lock.Unlock()
	if !isNew {
		return nil
	}
	if err := s.readyHandOff(ctx); err != nil {
		return err
	}
	// First those that load from now on, so that none is missed in between.
	if err := s.showLoading(ctx); err != nil {
		return err
	}
	loaded, err := s.peer.List(ctx)
	if err != nil {
		return s.explain(err)
	}
	s.choices.lock.Lock()
	defer s.choices.lock.Unlock()
	for _, class := range loaded {
		if name := internalName(class); class.Loader == 0 && isHandOff(name) {
			s.choices.owe(name, &debt{})
			delete(s.choices.emptied, name)
		}
	}
	return nil
}

// readyHandOff has the agent get ready for tasks. It uses their classes for that, so
// that they are loaded before the batch in which they get their hooks: of a class that
// a thread of the agent loads it cannot be asked.
func (s *Session) readyHandOff(ctx context.Context) error {
	s.switches.Lock()
	defer s.switches.Unlock()
	s.book.lock.Lock()
	isReady := len(s.book.watch.sent) > 0
	s.book.lock.Unlock()
	if isReady {
		return nil
	}
	if err := s.peer.Watches(ctx, control.Watches{Table: arena.NoWatches()}); err != nil {
		return s.explain(err)
	}
	return nil
}

// noteHandOff tells which ways of handing tasks on cannot be followed, because this
// JDK's class has no such method or the method could not be woven.
func (s *Session) noteHandOff(class string, picked *picking) {
	if !s.choices.hands(class) {
		return
	}
	for i := range handOffMethods {
		if h := &handOffMethods[i]; h.class == class && !picked.hasHandOff(h) {
			s.missHandOff(h, "no hook could be put into "+h.String())
		}
	}
}

func (h *handOffMethod) String() string {
	return strings.ReplaceAll(h.class, "/", ".") + "." + h.name + h.descriptor
}

func (p *picking) hasHandOff(h *handOffMethod) bool {
	for member := range p.handOffs {
		if name, arguments, _ := strings.Cut(member, "("); h.isOf(name, "("+arguments) {
			return true
		}
	}
	return false
}

// nameUnfollowed tells which ways are not followed because a class was left alone.
func (s *Session) nameUnfollowed() {
	for _, class := range s.choices.handing() {
		reason := s.book.whyLeft(class)
		for i := range handOffMethods {
			if h := &handOffMethods[i]; h.class == class && reason != "" {
				s.missHandOff(h, strings.ReplaceAll(class, "/", ".")+" was left alone: "+reason)
			}
		}
	}
}

// handing are the classes through which tasks are to carry their context.
func (c *choices) handing() []string {
	c.lock.Lock()
	defer c.lock.Unlock()
	if !c.handOff {
		return nil
	}
	return HandOffClasses()
}

// whyLeft is why a class was left alone; "" where it was not.
func (b *book) whyLeft(class string) string {
	b.lock.Lock()
	defer b.lock.Unlock()
	for left := range b.left {
		if left.Class == class && left.Method == "" && b.classes[class] == 0 {
			return left.Reason
		}
	}
	return ""
}

// missHandOff tells, once for each way, that it is not followed. Where this JDK is
// not one that should have the method, nothing is missed.
func (s *Session) missHandOff(h *handOffMethod, why string) {
	if s.jdk.Feature < h.since || h.until != 0 && s.jdk.Feature > h.until {
		return
	}
	s.book.lock.Lock()
	isKnown := s.book.watch.missed[h.way]
	s.book.watch.missed[h.way] = true
	s.book.lock.Unlock()
	if !isKnown && s.settings.Notice != nil {
		s.settings.Notice(fmt.Sprintf("context and tags do not go along with %s: %s", h.way, why))
	}
}

// Ways in which tasks go from thread to thread, for people.
const (
	byFutures     = "what is submitted to an executor"
	byPools       = "what a thread pool executes"
	byForking     = "tasks of fork-join pools"
	byCompletion  = "stages of a CompletableFuture"
	byVirtual     = "virtual threads"
	tryFire       = "(I)Ljava/util/concurrent/CompletableFuture;"
	runnable      = "(Ljava/lang/Runnable;)V"
	concurrent    = "java/util/concurrent/"
	completable   = concurrent + "CompletableFuture$"
	newVirtual    = "(Ljava/util/concurrent/Executor;Ljava/lang/String;ILjava/lang/Runnable;)Ljava/lang/Thread;"
	firstVirtual  = 19 // then still a preview
	firstComposed = 12 // exceptionallyCompose
)

// handOffMethods are the methods of the JDK through which tasks go from thread to
// thread (docs/formats/arena.md, Handing on). Where tasks are made of which each is one
// piece of work, those carry the context; where a pool takes any object, that one. A
// ForkJoinTask's doExec gives an int in 17 and nothing in 25.
var handOffMethods = []handOffMethod{
	{way: byFutures, class: concurrent + "FutureTask", name: "<init>", template: agent.CarryTemplate},
	{way: byFutures, class: concurrent + "FutureTask", name: "run", descriptor: "()V", template: agent.ResumeTemplate},
	{way: byFutures, class: concurrent + "FutureTask", name: "runAndReset", descriptor: "()Z", template: agent.AgainTemplate},

	{way: byForking, class: concurrent + "ForkJoinTask", name: "<init>", descriptor: "()V", template: agent.CarryTemplate},
	{way: byForking, class: concurrent + "ForkJoinTask", name: "doExec", template: agent.ResumeTemplate},

	{way: byPools, class: concurrent + "ThreadPoolExecutor", name: "execute", descriptor: runnable, template: agent.SubmitTemplate},
	{way: byPools, class: concurrent + "ThreadPoolExecutor", name: "reject", descriptor: runnable, template: agent.WithdrawTemplate},
	{way: byPools, class: concurrent + "ThreadPoolExecutor", name: "runWorker", template: agent.WorkTemplate},
	{way: byPools, class: concurrent + "ThreadPoolExecutor", name: "getTask", descriptor: "()Ljava/lang/Runnable;", template: agent.NextTemplate},

	{way: byVirtual, class: "java/lang/ThreadBuilders", name: "newVirtualThread", descriptor: newVirtual, since: firstVirtual, template: agent.MadeTemplate},

	// Executors of other kinds run these by themselves.
	{way: byCompletion, class: completable + "AsyncSupply", name: "run", descriptor: "()V", template: agent.ResumeTemplate},
	{way: byCompletion, class: completable + "AsyncRun", name: "run", descriptor: "()V", template: agent.ResumeTemplate},

	// All kinds of completions with a function of the program.
	{way: byCompletion, class: completable + "UniApply", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{way: byCompletion, class: completable + "UniAccept", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{way: byCompletion, class: completable + "UniRun", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{way: byCompletion, class: completable + "UniWhenComplete", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{way: byCompletion, class: completable + "UniHandle", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{way: byCompletion, class: completable + "UniExceptionally", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{way: byCompletion, class: completable + "UniComposeExceptionally", name: "tryFire", descriptor: tryFire, since: firstComposed, template: agent.FireTemplate},
	{way: byCompletion, class: completable + "UniCompose", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{way: byCompletion, class: completable + "BiApply", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{way: byCompletion, class: completable + "BiAccept", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{way: byCompletion, class: completable + "BiRun", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{way: byCompletion, class: completable + "OrApply", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{way: byCompletion, class: completable + "OrAccept", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{way: byCompletion, class: completable + "OrRun", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
}

// reflective are the JDK's methods through which calls by reflection go and
// method handles are made, by class. Where a JDK has the first, the second calls
// it.
var reflective = map[string]struct {
	methods []string
	handles bool // it makes handles; else it calls by reflection
}{
	"java/lang/reflect/Method":            {methods: []string{"invoke"}},
	"java/lang/reflect/Constructor":       {methods: []string{"newInstanceWithCaller", "newInstance"}},
	"java/lang/invoke/DirectMethodHandle": {methods: []string{"make"}, handles: true},
}

// reflection is the template that tells what a reflective method is about to
// call; nil for other methods. What it tells twice is taken once.
func (w *workshop) reflection(m weave.MethodInfo) *weave.Template {
	w.choices.lock.Lock()
	defer w.choices.lock.Unlock()
	if !w.choices.reflection {
		return nil
	}
	for _, name := range reflective[m.Class].methods {
		switch {
		case name != m.Name:
		case !reflective[m.Class].handles:
			return w.templates.reflect
		case m.Descriptor == "(BLjava/lang/Class;Ljava/lang/invoke/MemberName;Ljava/lang/Class;)Ljava/lang/invoke/DirectMethodHandle;":
			return w.templates.handle
		}
	}
	return nil
}
