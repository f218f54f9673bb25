package condition

import (
	"fmt"
	"slices"
	"sort"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// Checked is a condition that fits a method. It is never changed, and may be used by
// many at once.
type Checked struct {
	expr    *Expr
	method  Method
	moment  Moment
	cond    cond   // of a condition
	value   *value // of a value
	depends Depends
	tagCall TagCall
}

// Expr returns what was checked.
func (c *Checked) Expr() *Expr { return c.expr }

// Depends returns what the condition was found right by.
func (c *Checked) Depends() Depends { return c.depends }

// Check finds out what a condition means in a method. The error is an *Error.
func Check(expr *Expr, scope Scope) (*Checked, error) {
	k, err := newChecker(expr, scope)
	if err != nil {
		return nil, err
	}
	c, e := k.condition(expr.root)
	if e != nil {
		return nil, e
	}
	return k.small(k.checked(c, nil))
}

// mostSteps bounds the code of a condition, which makes a method of the program
// larger: the JVM does not compile those of more than 8000 bytes.
const mostSteps = 800

// small demands that a condition becomes little code.
func (k *checker) small(c *Checked) (*Checked, error) {
	at := weave.AtEntry
	if c.moment == Exit {
		at = weave.AtReturn
	}
	f, err := c.Lower(at)
	if err != nil {
		return nil, err
	}
	if len(f.Steps) > mostSteps {
		return nil, k.fail(TooMuch, k.expr.root.place(), "ask for fewer things, above all for fewer elements of collections",
			"the condition would become %d instructions, more than %d", len(f.Steps), mostSteps)
	}
	return c, nil
}

// checker is a Check under way.
type checker struct {
	expr   *Expr
	scope  Scope
	own    Method // the condition's
	static bool
	init   bool // the method is a constructor
	params []typ
	names  []string // of parameters; "" where there is none
	result typ

	known   map[string]*Class
	open    map[string]bool
	proven  map[Method]bool
	methods []Method
}

func newChecker(expr *Expr, scope Scope) (*checker, error) {
	name, desc, err := scope.Class.File.MemberName(scope.Method)
	if err != nil {
		return nil, fmt.Errorf("the method of a condition: %w", err)
	}
	d, err := descriptor.ParseMethod(string(desc))
	if err != nil {
		return nil, fmt.Errorf("the method of a condition: %w", err)
	}
	k := &checker{expr: expr, scope: scope, known: make(map[string]*Class), open: make(map[string]bool), proven: make(map[Method]bool)}
	k.own = Method{scope.Class.Name(), string(name), string(desc)}
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

func (k *checker) fail(kind ErrorKind, s span, remedy, detail string, args ...any) *Error {
	return &Error{Kind: kind, Text: k.expr.text, Offset: s.at, Length: s.end - s.at, Detail: fmt.Sprintf(detail, args...), Remedy: remedy}
}

// condition checks what must be true or false.
func (k *checker) condition(n node) (cond, *Error) {
	switch n := n.(type) {
	case *logic:
		l, err := k.condition(n.l)
		if err != nil {
			return nil, err
		}
		r, err := k.condition(n.r)
		if err != nil {
			return nil, err
		}
		if n.or {
			return &either{l, r}, nil
		}
		return &both{l, r}, nil
	case *negation:
		x, err := k.condition(n.x)
		if err != nil {
			return nil, err
		}
		return &not{x}, nil
	case *comparison:
		return k.comparison(n)
	case *membership:
		return k.membership(n)
	case *likeness:
		return k.likeness(n)
	case *instance:
		return k.instance(n)
	case *path:
		v, err := k.path(n)
		if err != nil {
			return nil, err
		}
		if v = k.unboxed(v); v.typ.desc != "Z" {
			return nil, k.fail(Mistyped, n.span, "compare it with something", "%s is %s, not a condition", n, v.typ.human())
		}
		return &compared{op: "==", kind: 'I', l: v, c: &constant{number: 1}}, nil
	case *literal:
		if n.kind == litBool {
			return always(n.number != 0), nil
		}
	}
	return nil, k.fail(Mistyped, n.place(), "compare it with something", "%s is not a condition", n)
}

// text turns a value into a string, where it can be one.
func (k *checker) text(v *value) *value {
	switch class := v.typ.class(); {
	case class == stringClass:
		return v
	case k.enum(v) != nil:
		k.rely(Method{enumClass, "name", "()" + stringDesc})
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
	k.rely(Method{v.typ.class(), box.method, "()" + box.desc})
	return &value{kind: fromUnboxed, typ: typ{desc: box.desc}, base: v, ref: ref{invokevirtual, v.typ.class(), box.method, "()" + box.desc}}
}

// likeness checks x matches "glob".
func (k *checker) likeness(n *likeness) (cond, *Error) {
	v, err := k.operand(n.x)
	if err != nil {
		return nil, err
	}
	s := k.text(v)
	if s == nil {
		return nil, k.fail(Mistyped, n.x.place(), "", "%s is %s, and only strings and enums match patterns", n.x, v.typ.human())
	}
	g, detail, remedy := compileGlob(n.pattern.text)
	if detail != "" {
		return nil, k.fail(Syntax, n.pattern.span, remedy, "%s", detail)
	}
	return &like{s, g}, nil
}

// instance checks x is a.b.C.
func (k *checker) instance(n *instance) (cond, *Error) {
	v, err := k.operand(n.x)
	if err != nil {
		return nil, err
	}
	if !v.typ.isRef() {
		return nil, k.fail(Mistyped, n.x.place(), "", "%s is %s, not an object", n.x, v.typ.human())
	}
	name := descriptor.InternalName(n.class)
	c := k.look(name)
	if c == nil && packageOf(name) == "" {
		name = "java/lang/" + name
		c = k.look(name)
	}
	if c == nil {
		return nil, k.fail(Unknown, n.named, "write it with its package, nested classes with a '$'; a class that was never loaded has no objects", "no class %s is loaded", n.class)
	}
	if why := k.seesClass(c); why != "" {
		return nil, k.fail(Inaccessible, n.named, "", "%s", why)
	}
	return &instanceOf{v, name}, nil
}

// operand checks one side of a comparison that must be something the method has.
func (k *checker) operand(n node) (*value, *Error) {
	switch n := n.(type) {
	case *path:
		return k.path(n)
	case *literal:
		return nil, k.fail(Mistyped, n.span, "begin with an argument, such as $1", "%s is a constant", n)
	case *name:
		return nil, k.fail(Unknown, n.span, "arguments are $1, $2 or $name; tags are tx.name", "%s is not known", n)
	}
	return nil, k.fail(Mistyped, n.place(), "join conditions by && and ||", "a condition cannot be compared")
}
