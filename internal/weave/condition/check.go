// Package condition compiles conditions such as
//
//	$1.customer.tier == "gold" && $2 > 100
//
// to bytecode that is spliced into a method ([weave.Template.Bind]). [Check] resolves a
// condition in one method, by class files alone, and [Checked.Lower] returns its code.
//
// # Values
//
// Package expr describes the syntax. $1 is the first argument; $name is the argument of that
// name, if the class file has names; $this is the object. When the method exits, $return,
// $exception and $elapsed are also available. $elapsed is in nanoseconds; constants can have a
// unit (ns us ms s min). tx.name is a tag of the transaction. A step .x reads the field x, or
// if there is none, calls the getter x(), getX() or isX(). A step .(a.b.C) is the same object
// as a C; an object that is not a C counts as null.
// [0] is an element of an array or list, ["key"] of a map. Arrays have .length; strings have
// .length and .isEmpty(); collections have .size() and .isEmpty(). A constant of an enum is
// written as CONSTANT or "CONSTANT". A glob with * and ? follows "matches".
//
// # Meaning
//
// Every step is null-safe: if the object of a step is null, or an index is out of bounds,
// there is no value. A comparison with a missing value is false, even with !=. x == null
// asks whether there is no value, and x != null whether there is one. A boolean alone means
// x == true. !, && and || are two-valued logic, so !($1.a > 3) is true where there is no $1.a.
// Comparisons of $return are false where the method threw; $exception is null where it
// returned.
//
// Strings are compared by content and ordered by chars; enums are compared by name; boxes are
// unboxed; other objects are compared by identity. Numbers are compared as the smallest of int, long
// and double that holds both. Two floats, or a float and a constant, are compared as float, but as
// double if the constant is a whole number that no float holds. NaN is unequal to everything.
//
// An element of a collection is read only if the class of the collection is exactly one of a
// list of known classes (compare.go). Otherwise the condition is undecided. It is also
// undecided if an element is not of the class that the type of the collection states, such as A in
// List<A>. Undecided conditions, and conditions that throw, are treated as false, and the hook
// counts them as undecided.
//
// # Safety
//
// A condition cannot write, loop, wait or create an object: its code reads fields and
// elements, compares, jumps forward, and calls methods of strings and known collections, and
// getters whose bytecode was proven to do no more than that, in every loaded class that may
// override them (pure.go). Sonde's own probe sets may name further methods to call. Static members are refused because their first use may run a
// static initialiser. A pattern costs at most the product of its length and that of the
// string; a regular expression could take exponential time. A class that loads later may
// override a getter with a method that is not pure: [Depends] lists what to check again.
//
// A getter is called, not copied, because its fields are mostly private to another class.
// Therefore a condition must not call a getter that has a hook, which would count calls that the
// program does not make, or the method that the condition is in, which would call itself forever.
//
// The code is spliced into a class of the program, which must still pass verification without
// loading further classes. Therefore every field and call names the static type of its
// object; branches join only where variables hold the same types; and members that the JVM
// would not let the class use are refused, according to its access rules: run-time packages
// (name and loader), nests and modules. An access that cannot be decided in advance fails inside
// the condition, not in the verifier.
package condition

import (
	"fmt"
	"slices"
	"sort"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// Moment is when a condition is evaluated.
type Moment uint8

// The moments. At exit the method has returned or thrown.
const (
	Entry Moment = iota
	Exit
)

// Class is a loaded class: its file, and its loader, which distinguishes run-time packages. The
// file must not be used concurrently while a condition is checked.
type Class struct {
	File   *classfile.Class
	Loader int // the same number for classes of the same loader
}

// Name returns the class's internal name.
func (c *Class) Name() string { return c.File.Name() }

func (c *Class) isInterface() bool { return c.File.Access.Has(classfile.AccInterface) }

// sharesPackage reports whether two classes are in one run-time package.
func (c *Class) sharesPackage(other *Class) bool {
	return c.Loader == other.Loader && descriptor.PackageOf(c.Name()) == descriptor.PackageOf(other.Name())
}

// Scope is the method and the moment of a condition, and what is known about classes there.
type Scope struct {
	Class  *Class
	Method *classfile.Member
	Moment Moment

	// Lookup returns the loaded class that an internal name means in Class, or nil.
	Lookup func(name string) *Class

	// Subtypes returns all loaded subclasses and subinterfaces, direct or not, and whether
	// the list is complete: it is not if there are hidden classes, whose files cannot be
	// read. If Subtypes is nil, only methods that cannot be overridden are called.
	Subtypes func(name string) (list []*Class, all bool)

	// OwnOnly means that all classes except Class may have another version when the condition
	// runs. Then only getters of Class are called, and methods that are pure by specification.
	// Fields of other classes are read; where one is missing, the condition is undecided.
	OwnOnly bool

	// Exported reports whether the module of Class reads the module of a class, and
	// whether that module exports its package to it. nil means yes for every class.
	Exported func(c *Class) bool

	// Probed reports whether a method has a hook, or will have one: a condition that
	// called it would count calls that the program does not make. nil means that none has.
	Probed func(classfile.MethodRef) bool

	// MayCall reports whether a method may be called though it is not proven to be pure. nil
	// means that none may.
	MayCall func(classfile.MethodRef) bool

	// Tags maps the names of known tags to the numbers that TagCall takes.
	Tags    map[string]int32
	TagCall TagCall
}

// TagCall names the static method, from int to String, that returns the value of a
// tag, or null. It must be pure, and visible to every class. Parent names the one that returns
// the name of the running traced call, or null.
type TagCall struct{ Class, Method, Parent string }

// Depends lists what a check relied on. When one of Classes is redefined, or a subtype of one
// of Open is loaded, the condition must be checked again: the methods it calls may no longer
// be pure. Until then a woven condition may call an override that was not checked, so the new
// class should be checked before it is used.
type Depends struct {
	Classes []string              // classes whose files were read
	Open    []string              // classes all of whose loaded subtypes were checked
	Methods []classfile.MethodRef // methods that the condition may run; none of them may get a hook
}

// Checked is a condition or value that fits a method. It is immutable and safe for
// concurrent use.
type Checked struct {
	expr    *expr.Expr
	method  classfile.MethodRef
	moment  Moment
	cond    cond     // nil for a value
	values  []*value // the first that exists is the value; none for a condition
	depends Depends
	tagCall TagCall
	fold    string // the method that shortens the text of a value; "" cuts it
}

// Depends returns what the check relied on.
func (c *Checked) Depends() Depends { return c.depends }

// Check resolves a condition in a method. The error is an *expr.Error.
func Check(e *expr.Expr, scope Scope) (made *Checked, err error) {
	k, err := newChecker(e, scope)
	if err != nil {
		return nil, err
	}
	defer recoverError(&err)
	c := k.checked(k.condition(e.Root()))
	return c, k.checkSize(c)
}

// recoverError turns the *expr.Error that a checker panicked with into a returned error.
func recoverError(err *error) {
	switch failure := recover().(type) {
	case nil:
	case *expr.Error:
		*err = failure
	default:
		panic(failure)
	}
}

// LongestValue is the number of chars to which a value is cut.
const LongestValue = 256

// CheckValue resolves a tag or a captured value such as $1.customer.tier in a method. Its
// code leaves a string, an enum, a number, a char or a boolean as text of at most
// [LongestValue] chars, or null where there is no value. Of several paths, joined by ||, the
// first that has a value counts. The error is an *expr.Error.
//
// Unlike a condition, a value may allocate: numbers are converted to text, long texts are cut.
func CheckValue(e *expr.Expr, scope Scope) (made *Checked, err error) {
	k, err := newChecker(e, scope)
	if err != nil {
		return nil, err
	}
	defer recoverError(&err)
	return k.checked(nil, k.alternatives(e.Root())...), nil
}

// alternatives checks paths that are joined by ||.
func (k *checker) alternatives(n expr.Node) []*value {
	switch n := n.(type) {
	case *expr.Path:
		return []*value{k.textOf(n)}
	case *expr.Logic:
		if n.Or && !k.expr.ReadsElapsed() { // which always has a value
			return append(k.alternatives(n.L), k.alternatives(n.R)...)
		}
	}
	panic(k.fail(expr.Mistyped, n.Place(), "write a path such as $1.customer.tier", "not a value"))
}

// textOf checks a path whose value has a text.
func (k *checker) textOf(n *expr.Path) *value {
	v := k.unboxed(k.path(n))
	if !v.typ.isRef() {
		return v
	}
	s := k.text(v)
	if s == nil {
		panic(k.fail(expr.Mistyped, n.Span, "name a field or getter of it", "%s is %s, and only strings, enums, numbers and booleans have a text", n, v.typ.human()))
	}
	return s
}

// CheckText is CheckValue for a value that is not cut: a static method of the class of
// [TagCall], from String to String, turns it into a bounded text.
func CheckText(e *expr.Expr, method string, scope Scope) (*Checked, error) {
	made, err := CheckValue(e, scope)
	if err != nil {
		return nil, err
	}
	made.fold = method
	return made, nil
}

// CheckKept returns the value that a static method of the class of [TagCall], from Object
// to String, returns for $this.
func CheckKept(method string, scope Scope) (made *Checked, err error) {
	e, err := expr.Parse("$this")
	if err != nil {
		return nil, err
	}
	k, err := newChecker(e, scope)
	if err != nil {
		return nil, err
	}
	defer recoverError(&err)
	self := k.path(e.Root().(*expr.Path))
	call := ref{opcode.Invokestatic, scope.TagCall.Class, method, "(" + objectDesc + ")" + stringDesc}
	return k.checked(nil, &value{kind: fromCall, typ: typ{desc: stringDesc}, base: self, ref: call}), nil
}

// mostSteps limits the code of a condition, which makes a method of the program larger: the
// JVM does not compile methods of more than 8000 bytes.
const mostSteps = 800

// checkSize refuses a condition that becomes too much code.
func (k *checker) checkSize(c *Checked) error {
	at := weave.AtEntry
	if c.moment == Exit {
		at = weave.AtReturn
	}
	f, err := c.Lower(at)
	if err == nil && len(f.Steps) > mostSteps {
		panic(k.fail(expr.TooMuch, k.expr.Root().Place(), "test fewer values, in particular fewer elements of collections",
			"the condition would become %d instructions, more than %d", len(f.Steps), mostSteps))
	}
	return err
}

// checker is a Check under way. Its methods panic with an *expr.Error where the expression
// does not fit the method; Check and CheckValue recover it.
type checker struct {
	expr   *expr.Expr
	scope  Scope
	own    classfile.MethodRef // the method of the condition
	static bool
	init   bool // the method is a constructor
	params []typ
	names  []string // of parameters; "" if unknown
	result typ

	known   map[string]*Class
	open    map[string]bool
	proven  map[classfile.MethodRef]bool
	methods []classfile.MethodRef
}

func newChecker(e *expr.Expr, scope Scope) (*checker, error) {
	name, desc, err := scope.Class.File.MemberName(scope.Method)
	if err != nil {
		return nil, fmt.Errorf("the method that gets the condition: %w", err)
	}
	d, err := descriptor.ParseMethod(string(desc))
	if err != nil {
		return nil, fmt.Errorf("the method that gets the condition: %w", err)
	}
	k := &checker{expr: e, scope: scope, known: make(map[string]*Class), open: make(map[string]bool), proven: make(map[classfile.MethodRef]bool)}
	k.own = classfile.MethodRef{Class: scope.Class.Name(), Name: string(name), Descriptor: string(desc)}
	k.static = scope.Method.Access.Has(classfile.AccStatic)
	k.init = string(name) == "<init>"
	k.params = parameterTypes(scope.Class.File, scope.Method, d)
	k.names = parameterNames(scope.Class.File, scope.Method, d, k.static)
	k.result = memberType(scope.Class.File, scope.Method, string(d.Return()))
	return k, nil
}

// checked returns the result of the check.
func (k *checker) checked(c cond, values ...*value) *Checked {
	made := &Checked{expr: k.expr, method: k.own, moment: k.scope.Moment, cond: c, values: values, tagCall: k.scope.TagCall}
	for name, class := range k.known {
		if class != nil {
			made.depends.Classes = append(made.depends.Classes, name)
		}
	}
	for name := range k.open {
		made.depends.Open = append(made.depends.Open, name)
	}
	sort.Strings(made.depends.Classes)
	sort.Strings(made.depends.Open)
	made.depends.Methods = k.methods
	return made
}

func (k *checker) fail(kind expr.ErrorKind, s expr.Span, remedy, detail string, args ...any) *expr.Error {
	return expr.NewError(kind, k.expr.Text(), s, fmt.Sprintf(detail, args...), remedy)
}

// condition checks an expression that must be true or false.
func (k *checker) condition(n expr.Node) cond {
	switch n := n.(type) {
	case *expr.Logic:
		return &logic{n.Or, k.condition(n.L), k.condition(n.R)}
	case *expr.Not:
		return &not{k.condition(n.X)}
	case *expr.Comparison:
		return k.comparison(n)
	case *expr.Membership:
		return k.membership(n)
	case *expr.Match:
		return k.likeness(n)
	case *expr.InstanceOf:
		return k.instance(n)
	case *expr.Path:
		v := k.unboxed(k.path(n))
		if v.typ.desc != "Z" {
			panic(k.fail(expr.Mistyped, n.Span, "compare it with something", "%s is %s, not a condition", n, v.typ.human()))
		}
		return &compared{op: "==", kind: 'I', l: v, c: &constant{number: 1}}
	case *expr.Literal:
		if n.Kind == expr.Bool {
			return always(n.Number != 0)
		}
	}
	panic(k.fail(expr.Mistyped, n.Place(), "compare it with something", "%s is not a condition", n))
}

// text converts a value to a string, or returns nil if it cannot be one.
func (k *checker) text(v *value) *value {
	switch class := v.typ.class(); {
	case class == stringClass:
		return v
	case k.enum(v) != nil:
		k.rely(classfile.MethodRef{Class: enumClass, Name: "name", Descriptor: "()" + stringDesc})
		if e := k.enum(v); k.isUncertain(e) || k.seesClass(e) != "" {
			v = &value{kind: fromNarrow, typ: classType(enumClass), base: v, hard: k.scope.OwnOnly}
			class = enumClass
		}
		return &value{kind: fromCall, typ: typ{desc: stringDesc}, base: v, ref: ref{invokevirtual, class, "name", "()" + stringDesc}, named: true}
	case slices.Contains([]string{objectClass, "java/lang/CharSequence", "java/lang/Comparable", "java/io/Serializable"}, class):
		return &value{kind: fromNarrow, typ: typ{desc: stringDesc}, base: v}
	}
	return nil
}

// enum returns the class of a value whose type is an enum, or nil.
func (k *checker) enum(v *value) *Class {
	if class := v.typ.class(); class != "" && class != stringClass {
		if c := k.look(class); isEnum(c) {
			return c
		}
	}
	return nil
}

// unboxed turns a value of a boxing class into a number or boolean.
func (k *checker) unboxed(v *value) *value {
	box, ok := boxed[v.typ.class()]
	if !ok {
		return v
	}
	k.rely(classfile.MethodRef{Class: v.typ.class(), Name: box.method, Descriptor: "()" + box.desc})
	return &value{kind: fromUnboxed, typ: typ{desc: box.desc}, base: v, ref: ref{invokevirtual, v.typ.class(), box.method, "()" + box.desc}}
}

// likeness checks x matches "glob".
func (k *checker) likeness(n *expr.Match) cond {
	v := k.operand(n.X)
	s := k.text(v)
	if s == nil {
		panic(k.fail(expr.Mistyped, n.X.Place(), "", "%s is %s, and only strings and enums match patterns", n.X, v.typ.human()))
	}
	g, detail, remedy := compileGlob(n.Pattern.Text)
	if detail != "" {
		panic(k.fail(expr.Syntax, n.Pattern.Span, remedy, "%s", detail))
	}
	return &like{s, g}
}

// instance checks x is a.b.C.
func (k *checker) instance(n *expr.InstanceOf) cond {
	v := k.operand(n.X)
	if !v.typ.isRef() {
		panic(k.fail(expr.Mistyped, n.X.Place(), "", "%s is %s, not an object", n.X, v.typ.human()))
	}
	return &instanceOf{v, k.class(n.Class, n.ClassSpan)}
}

// class returns the internal name of a class that an expression names.
func (k *checker) class(written string, at expr.Span) string {
	name := descriptor.InternalName(written)
	c := k.look(name)
	if c == nil && descriptor.PackageOf(name) == "" {
		name = "java/lang/" + name
		c = k.look(name)
	}
	if c == nil {
		panic(k.fail(expr.Unknown, at, "write it with its package, nested classes with a '$'; a class that was never loaded has no objects", "no class %s is loaded", written))
	}
	if why := k.seesClass(c); why != "" {
		panic(k.fail(expr.Inaccessible, at, "", "%s", why))
	}
	return name
}

// operand checks a side of a comparison that must be a value of the method.
func (k *checker) operand(n expr.Node) *value {
	switch n := n.(type) {
	case *expr.Path:
		return k.path(n)
	case *expr.Literal:
		panic(k.fail(expr.Mistyped, n.Span, "begin with an argument, such as $1", "%s is a constant", n))
	case *expr.Name:
		panic(k.fail(expr.Unknown, n.Span, "arguments are $1, $2 or $name; tags are tx.name", "%s is not known", n))
	}
	panic(k.fail(expr.Mistyped, n.Place(), "join conditions by && and ||", "a condition cannot be compared"))
}
