package agent

import (
	"embed"
	"fmt"
)

//go:embed dist/*.class
var liveTemplates embed.FS

// live is the template for running JVMs of this name, which its class file and its
// template method have.
func live(name string) (class []byte, method string) {
	class, err := liveTemplates.ReadFile("dist/" + name + ".class")
	if err != nil { // it is part of the program
		panic(fmt.Sprintf("agent: embedded template: %v", err))
	}
	return class, name
}

// LiveTemplate returns the class file of the template that is woven into
// running JVMs, and the name of the template method in it. The caller must not
// modify the bytes.
func LiveTemplate() (class []byte, method string) { return live("live") }

// ReflectTemplate is LiveTemplate for java.lang.reflect.Method.invoke and
// Constructor.newInstanceWithCaller: it tells the hooks which member is called.
func ReflectTemplate() (class []byte, method string) { return live("reflect") }

// HandleTemplate is LiveTemplate for java.lang.invoke.DirectMethodHandle.make
// with the parameters byte, Class, MemberName, Class: it tells the hooks what a
// new method handle calls.
func HandleTemplate() (class []byte, method string) { return live("handle") }

// AnchorTemplate is LiveTemplate for methods that are elements of sequences.
func AnchorTemplate() (class []byte, method string) { return live("anchor") }

// TagTemplate is LiveTemplate for methods at which a tag gets a value: value 0.
func TagTemplate() (class []byte, method string) { return live("tag") }

// PlainTemplate is WatchTemplate without a context and a condition.
func PlainTemplate() (class []byte, method string) { return live("plain") }

// WatchTemplate is LiveTemplate for methods that are watched where their context and
// a condition hold: condition 0, at their entry.
func WatchTemplate() (class []byte, method string) { return live("watch") }

// LateTemplate is WatchTemplate with a condition 1 at the exit.
func LateTemplate() (class []byte, method string) { return live("late") }

// CaptureTemplate is LateTemplate with values that are captured: 2 to 5 at the entry,
// 6 to 9 when the method returns.
func CaptureTemplate() (class []byte, method string) { return live("capture") }

// CarryTemplate is LiveTemplate for constructors of tasks, which carry the context
// they are made in.
func CarryTemplate() (class []byte, method string) { return live("carry") }

// MadeTemplate is CarryTemplate for methods whose result is the task.
func MadeTemplate() (class []byte, method string) { return live("made") }

// SubmitTemplate is CarryTemplate for methods whose first argument is the task,
// which may be handed over more than once.
func SubmitTemplate() (class []byte, method string) { return live("submit") }

// WithdrawTemplate undoes what SubmitTemplate did, in a method that refuses its first
// argument.
func WithdrawTemplate() (class []byte, method string) { return live("withdraw") }

// ResumeTemplate is LiveTemplate for methods that run the task they are of, once: they
// run in the task's context.
func ResumeTemplate() (class []byte, method string) { return live("resume") }

// AgainTemplate is ResumeTemplate for methods that may run it again.
func AgainTemplate() (class []byte, method string) { return live("again") }

// FireTemplate is ResumeTemplate for methods that run a completion of a
// CompletableFuture, or find that it is not ready.
func FireTemplate() (class []byte, method string) { return live("fire") }

// WorkTemplate is LiveTemplate for ThreadPoolExecutor.runWorker(Worker): the worker's
// first task begins.
func WorkTemplate() (class []byte, method string) { return live("work") }

// NextTemplate is LiveTemplate for ThreadPoolExecutor.getTask(): the worker's task is
// done, and the one that is returned begins.
func NextTemplate() (class []byte, method string) { return live("next") }
