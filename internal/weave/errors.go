package weave

import "fmt"

// TemplateError says why a method cannot be a template.
type TemplateError struct {
	Template string
	Detail   string
}

func (e *TemplateError) Error() string { return fmt.Sprintf("template %s: %s", e.Template, e.Detail) }

// Reason is why a method, or a call in one, was left alone. Reasons are few, so that they can be
// counted; Detail says more of the one case.
type Reason struct {
	Kind   ReasonKind
	Detail string
}

// ReasonKind is a kind of reason.
type ReasonKind string

// The reasons for which a method, or a call in one, is left alone.
const (
	TooLarge        ReasonKind = "the woven method would be too large"
	PoolFull        ReasonKind = "the class's constant pool would overflow"
	DoesNotFit      ReasonKind = "the template asks for what the method does not have"
	NeedsNewerClass ReasonKind = "the template needs a newer class-file version"
	OddConstructor  ReasonKind = "the constructor initialises its object in more than one place"
	EmptyFinalizer  ReasonKind = "an empty finalizer: with code in it, the JVM would finalize every object of the class"
	RootConstructor ReasonKind = "the constructor of java.lang.Object: the JVM registers finalizers at its return, and its compiler fails on exception blocks there"
	BeforeSuper     ReasonKind = "the call comes before super(...), where nothing may enclose it"
	Unreachable     ReasonKind = "the call is never reached"
	OddStack        ReasonKind = "the call has something under its arguments that cannot be put aside"
	Malformed       ReasonKind = "the method's code is malformed"
)

func (r *Reason) Error() string {
	if r.Detail == "" {
		return string(r.Kind)
	}
	return string(r.Kind) + ": " + r.Detail
}
