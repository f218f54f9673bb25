// Package condition compiles conditions such as
//
//	$1.customer.tier == "gold" && $2 > 100
//
// to bytecode that is spliced into a method ([weave.Template.Bind]). [Check] resolves a
// condition in one method, by class files alone, and [Checked.Lower] returns its code.
//
// # Values
//
// Package expr describes the syntax. $1 is the first argument, $name one by its name if the class file has it; $this;
// at the exit $return, $exception and $elapsed, in nanoseconds (units: ns us ms s min);
// tx.name a tag of the transaction. A step .x is the field x, else the getter x(),
// getX() or isX(); [0] an element of an array or list, ["key"] of a map; .length,
// .size() and .isEmpty() are of arrays, strings and collections. CONSTANT names one of
// an enum's, which a string does too. A pattern is a glob of * and ?.
//
// # Meaning
//
// Every step is null-safe: where something on the way is null, or an index is out of
// bounds, there is no value. A comparison in which a value is missing is false,
// whatever it asks, != too; but x == null asks just that, and x != null the opposite.
// A boolean by itself is x == true. !, && and || are those of logic, so !($1.a > 3)
// is true where there is no $1.a. What asks for $return is false where the method
// threw; $exception is null where it returned.
//
// Strings are equal by content and ordered by chars; enums are compared by name;
// boxes are unboxed; other objects by identity. Numbers are compared as int, long or
// double, whichever holds both; two floats, and a float and a constant, as float.
// NaN is unequal to everything.
//
// An element of a collection is read where the object is, exactly, of a class that is
// known (collections.go); where it is not, the condition is undecided. So it is where
// an element is not of the class that the declaration promises. Undecided conditions,
// and such as throw, count as false; the template tells them apart, so that they can
// be counted.
//
// # What is safe, and why
//
// A condition has no way to write, to loop, to wait or to make an object: its code
// reads fields and elements, compares, jumps forward, and calls strings, known
// collections, and getters whose bytecode was proven to do no more than that, in every
// loaded class that may override them (pure.go). Static members are out, as the first
// use of one may run a static initialiser. A pattern costs at most the product of its
// length and the string's: a regular expression could run away. A class that loads
// later may bring an override that is not pure: [Depends] says what to watch.
//
// A getter is called, not copied, as its fields are mostly private to another class.
// So a getter with a hook, or the condition's own method, is refused: the program
// would see calls that it does not make, or one that never ends.
//
// Code is spliced into somebody else's class, which must go on being verified as it
// was, without loading a class for it. So every field and call names the very class
// that its object is declared as; ways meet only where variables hold the same; and
// members that the JVM would not let the class use are refused: access is the JVM's
// own, with packages by loader, nests and modules. What cannot be foreseen fails where
// it is used, inside the condition, and not in the verifier.
package condition

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// Moment is when a condition is asked.
type Moment uint8

// The moments. At exit the method has returned or thrown.
const (
	Entry Moment = iota
	Exit
)

// Class is a loaded class: its file, and what tells run-time packages apart. Its file
// must not be used by anybody else while a condition is checked.
type Class struct {
	File   *classfile.Class
	Loader int // the same number for classes of the same loader
}

// Name returns the class's internal name.
func (c *Class) Name() string { return c.File.Name() }

func (c *Class) isInterface() bool { return c.File.Access.Has(classfile.AccInterface) }

// sharesPackage reports whether two classes are in one run-time package.
func (c *Class) sharesPackage(other *Class) bool {
	return c.Loader == other.Loader && packageOf(c.Name()) == packageOf(other.Name())
}

func packageOf(class string) string { return class[:max(0, strings.LastIndexByte(class, '/'))] }

// Scope is where a condition stands, and what is known there.
type Scope struct {
	Class  *Class
	Method *classfile.Member
	Moment Moment

	// Lookup returns the loaded class of an internal name as Class sees it, nil
	// where there is none.
	Lookup func(name string) *Class

	// Subtypes returns the loaded classes and interfaces below one, at any depth, and
	// whether that is all of them: hidden classes, whose files cannot be had, make it
	// false. Where it is nil only what cannot be overridden is called.
	Subtypes func(name string) (list []*Class, all bool)

	// OwnOnly says that of all classes only Class is certain to be, when it runs, what it
	// is here: another may be of another version then. Getters of Class alone are called,
	// and what is pure by knowledge; fields of others are read, and where one is missing
	// the condition is undecided.
	OwnOnly bool

	// Exported reports whether the module of Class reads the module of a class and
	// has its package exported to it. Where it is nil every class counts as such.
	Exported func(c *Class) bool

	// Probed reports whether a method has a hook, or will have: a condition that
	// called it would count calls that the program does not make. nil: none has.
	Probed func(classfile.MethodRef) bool

	// Tags are the tags that may be asked for, by name, with the number that TagCall
	// is given.
	Tags    map[string]int32
	TagCall TagCall
}

// TagCall names the static method, from int to String, that returns the value of a
// tag, or null. It must be pure, and visible to every class.
type TagCall struct{ Class, Method string }

// Depends is what a condition was found right by. When one of Classes is redefined, or
// when a class loads below one of Open, it must be checked again: what it calls may no
// longer be pure. Until then a condition that was woven may call an override nobody
// has looked at, so the class that brings it should be looked at before it is used.
type Depends struct {
	Classes []string              // whose files were read
	Open    []string              // whose loaded subtypes were all looked at
	Methods []classfile.MethodRef // that the condition may run; none of them may get a hook
}

// Checked is a condition that fits a method. It is never changed, and may be used by
// many at once.
type Checked struct {
	expr    *expr.Expr
	method  classfile.MethodRef
	moment  Moment
	cond    cond   // of a condition
	value   *value // of a value
	depends Depends
	tagCall TagCall
}

// Expr returns what was checked.
func (c *Checked) Expr() *expr.Expr { return c.expr }

// Depends returns what the condition was found right by.
func (c *Checked) Depends() Depends { return c.depends }

// Check resolves a condition in a method. The error is an *expr.Error.
func Check(e *expr.Expr, scope Scope) (made *Checked, err error) {
	k, err := newChecker(e, scope)
	if err != nil {
		return nil, err
	}
	defer recoverError(&err)
	c := k.checked(k.condition(e.Root()), nil)
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

// LongestValue is how many chars of a value are kept.
const LongestValue = 256

// CheckValue finds out what an expression that is no condition means in a method: a
// tag or a captured value such as $1.customer.tier. Lowered, it leaves the text of a
// string, an enum, a number, a char or a boolean, of [LongestValue] chars at most, or
// null where there is none. The error is an *Error.
//
// Unlike a condition, a value may allocate: numbers are turned into texts, long texts
// are cut.
func CheckValue(e *expr.Expr, scope Scope) (made *Checked, err error) {
	k, err := newChecker(e, scope)
	if err != nil {
		return nil, err
	}
	defer recoverError(&err)
	n, ok := e.Root().(*expr.Path)
	if !ok {
		panic(k.fail(expr.Mistyped, e.Root().Place(), "write a path such as $1.customer.tier", "not a value"))
	}
	v := k.unboxed(k.path(n))
	if v.typ.isRef() {
		s := k.text(v)
		if s == nil {
			panic(k.fail(expr.Mistyped, n.Span, "name a field or getter of it", "%s is %s, and only strings, enums, numbers and booleans have a text", n, v.typ.human()))
		}
		v = s
	}
	return k.checked(nil, v), nil
}

// mostSteps bounds the code of a condition, which makes a method of the program
// larger: the JVM does not compile those of more than 8000 bytes.
const mostSteps = 800

// checkSize refuses a condition that becomes too much code.
func (k *checker) checkSize(c *Checked) error {
	at := weave.AtEntry
	if c.moment == Exit {
		at = weave.AtReturn
	}
	f, err := c.Lower(at)
	if err == nil && len(f.Steps) > mostSteps {
		panic(k.fail(expr.TooMuch, k.expr.Root().Place(), "ask for fewer things, above all for fewer elements of collections",
			"the condition would become %d instructions, more than %d", len(f.Steps), mostSteps))
	}
	return err
}

// checker is a Check under way. Its methods panic with an *expr.Error where the expression
// does not fit the method; Check and CheckValue recover it.
type checker struct {
	expr   *expr.Expr
	scope  Scope
	own    classfile.MethodRef // the condition's
	static bool
	init   bool // the method is a constructor
	params []typ
	names  []string // of parameters; "" where there is none
	result typ

	known   map[string]*Class
	open    map[string]bool
	proven  map[classfile.MethodRef]bool
	methods []classfile.MethodRef
}

func newChecker(e *expr.Expr, scope Scope) (*checker, error) {
	name, desc, err := scope.Class.File.MemberName(scope.Method)
	if err != nil {
		return nil, fmt.Errorf("the method of a condition: %w", err)
	}
	d, err := descriptor.ParseMethod(string(desc))
	if err != nil {
		return nil, fmt.Errorf("the method of a condition: %w", err)
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

// checked is what the checker found, for later.
func (k *checker) checked(c cond, v *value) *Checked {
	made := &Checked{expr: k.expr, method: k.own, moment: k.scope.Moment, cond: c, value: v, tagCall: k.scope.TagCall}
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

// condition checks what must be true or false.
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

// text turns a value into a string, where it can be one.
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

// enum returns the class of a value of an enum's type, else nil.
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
	name := descriptor.InternalName(n.Class)
	c := k.look(name)
	if c == nil && packageOf(name) == "" {
		name = "java/lang/" + name
		c = k.look(name)
	}
	if c == nil {
		panic(k.fail(expr.Unknown, n.ClassSpan, "write it with its package, nested classes with a '$'; a class that was never loaded has no objects", "no class %s is loaded", n.Class))
	}
	if why := k.seesClass(c); why != "" {
		panic(k.fail(expr.Inaccessible, n.ClassSpan, "", "%s", why))
	}
	return &instanceOf{v, name}
}

// operand checks one side of a comparison that must be something the method has.
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
