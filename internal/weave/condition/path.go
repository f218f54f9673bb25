package condition

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/spec/expr"
)

// parameterNames returns the names of the parameters of a method, from MethodParameters or
// from the local variables at the entry of the method.
func parameterNames(c *classfile.Class, m *classfile.Member, d descriptor.Method, static bool) []string {
	names := make([]string, d.NumParams())
	text := func(i uint16) string {
		b, _ := c.Pool.Utf8(i)
		return string(b)
	}
	list := decoded[classfile.MethodParameters](c, m.Attributes, classfile.KindMethodParameters)
	if len(list) > 0 && len(list) == len(names) {
		for i := range list {
			names[i] = text(list[i].Name)
		}
		return names
	}
	body, err := code.Lift(c, m)
	if err != nil || body == nil {
		return names
	}
	slot := 1
	if static {
		slot = 0
	}
	for i, t := range d.Params() {
		for j := range body.Vars {
			if v := &body.Vars[j]; int(v.Slot) == slot && v.Start.Offset() == 0 && !body.VarTypes(v) {
				names[i] = text(v.Name)
			}
		}
		slot += t.Slots()
	}
	return names
}

// path checks a value of the method, and the steps from there.
func (k *checker) path(n *expr.Path) *value {
	steps := n.Steps
	var v *value
	if n.Class != "" {
		v = k.staticCall(n)
	} else {
		v = k.root(n)
	}
	if n.Class != "" || n.Root == "tx" {
		steps = steps[1:]
	}
	for i := range steps {
		v = k.step(v, &steps[i])
	}
	if v.typ.desc == "V" {
		panic(k.fail(expr.Mistyped, n.Span, "", "the method returns nothing"))
	}
	return v
}

func (k *checker) root(n *expr.Path) *value {
	at := expr.Span{At: n.At, End: n.At + len(n.Root) + 1}
	late := func(kind valueKind, t typ) *value {
		if k.scope.Moment == Entry {
			panic(k.fail(expr.Untimely, at, "use $this or an argument, such as $1", "$%s is not known when the method begins", n.Root))
		}
		return &value{kind: kind, typ: t}
	}
	switch n.Root {
	case "tx":
		tag := n.Steps[0]
		number, ok := k.scope.Tags[tag.Name]
		if !ok || tag.Call || tag.Index != nil {
			panic(k.fail(expr.Unknown, tag.Span, "declare it where the transaction begins: --tag name=$1.field", "no tag tx.%s", tag.Name))
		}
		return &value{kind: fromTag, typ: typ{desc: stringDesc}, n: number}
	case "this":
		switch {
		case k.static:
			panic(k.fail(expr.Unknown, at, "", "a static method has no $this"))
		case k.init && k.scope.Moment == Entry:
			panic(k.fail(expr.Untimely, at, "use an argument, such as $1", "$this is not initialized yet when a constructor begins"))
		}
		return &value{kind: fromThis, typ: classType(k.scope.Class.Name())}
	case "return":
		return late(fromReturn, k.result)
	case "exception":
		return late(fromThrown, classType("java/lang/Throwable"))
	case "elapsed":
		return late(fromElapsed, typ{desc: "J"})
	}
	if no, err := strconv.Atoi(n.Root); err == nil {
		if no < 1 || no > len(k.params) {
			panic(k.fail(expr.Unknown, at, "", "no argument $%d: the method has %s", no, counted(len(k.params))))
		}
		return &value{kind: fromArgument, typ: k.params[no-1], n: int32(no - 1)}
	}
	for i, name := range k.names {
		if name == n.Root {
			return &value{kind: fromArgument, typ: k.params[i], n: int32(i)}
		}
	}
	remedy := "the class file has no names of arguments: write $1, $2"
	if named := strings.Join(k.names, ", $"); strings.Trim(named, ", $") != "" {
		remedy = "there are $" + named
	}
	panic(k.fail(expr.Unknown, at, remedy, "no argument $%s", n.Root))
}

// staticCall checks a call of a static method, which a rule must name: the first use of a class may
// run its initialiser.
func (k *checker) staticCall(n *expr.Path) *value {
	s := &n.Steps[0]
	c := k.look(k.class(n.Class, n.Span))
	m := declared(c, c.File.Methods, func(name, desc string, access classfile.Access) bool {
		return name == s.Name && strings.HasPrefix(desc, "()") && access.Has(classfile.AccStatic)
	})
	switch {
	case m == nil || s.Arg != nil:
		panic(k.fail(expr.Unknown, s.Span, "", "%s has no static method %s()", n.Class, s.Name))
	case !k.mayCall(m):
		panic(k.fail(expr.Impure, s.Span, "", "%s is static: its first use may run a static initialiser", m.full()))
	}
	if why := k.sees(m, c); why != "" {
		panic(k.fail(expr.Inaccessible, s.Span, "", "%s", why))
	}
	k.rely(m.id())
	t := memberType(m.class.File, m.m, m.desc[2:])
	return &value{kind: fromStatic, typ: t, ref: ref{opcode.Invokestatic, c.Name(), m.name, m.desc}, open: c.isInterface()}
}

// mayCall reports whether a rule names a method.
func (k *checker) mayCall(m *member) bool { return k.scope.MayCall != nil && k.scope.MayCall(m.id()) }

func counted(n int) string {
	if n == 1 {
		return "1 argument"
	}
	return strconv.Itoa(n) + " arguments"
}

// step checks one step from a value.
func (k *checker) step(v *value, s *expr.Step) *value {
	if !v.typ.isRef() {
		if v.typ.desc == "V" {
			panic(k.fail(expr.Mistyped, s.Span, "", "the method returns nothing"))
		}
		panic(k.fail(expr.Mistyped, s.Span, "", "%s has no members", v.typ.human()))
	}
	if s.Index != nil {
		return k.element(v, s)
	}
	if s.Class != "" {
		return &value{kind: fromNarrow, typ: classType(k.class(s.Class, s.Span)), base: v}
	}
	if v.typ.isArray() {
		if s.Name == "length" {
			return &value{kind: fromLength, typ: typ{desc: "I"}, base: v}
		}
		panic(k.fail(expr.Unknown, s.Span, "an array has .length and [0]", "%s has no member %s", v.typ.human(), s.Name))
	}
	if c := k.intrinsic(v, s); c != nil {
		return c
	}
	c := k.look(v.typ.class())
	if c == nil {
		panic(k.fail(expr.Unproven, s.Span, "", "class %s is not known here", descriptor.ExternalName(v.typ.class())))
	}
	return k.memberOf(v, c, s)
}

// memberOf resolves a step to a field or a getter.
func (k *checker) memberOf(v *value, c *Class, s *expr.Step) *value {
	why, missing := "", ""
	if !s.Call {
		f, lacks := k.field(c, s.Name)
		missing = lacks
		switch {
		case f == nil:
		case f.access.Has(classfile.AccStatic):
			why = f.full() + " is static: reading it may run a static initialiser"
		default:
			if why = k.sees(f, c); why == "" {
				t := memberType(f.class.File, f.m, f.desc)
				return &value{kind: fromField, typ: t, base: v, ref: ref{opcode.Getfield, c.Name(), f.name, f.desc}}
			}
		}
	}
	kind, remedy := expr.Inaccessible, ""
	for _, name := range getterNames(s) {
		m, lacks := k.called(c, name, s)
		if missing == "" {
			missing = lacks
		}
		if m == nil {
			continue
		}
		got, r := k.getter(v, c, m)
		if r == nil {
			if s.Arg != nil {
				got.text, got.asked = s.Arg.Text, true
			}
			if s.Hands {
				return k.handing(got, s)
			}
			return got
		}
		if why == "" || kind == expr.Inaccessible {
			kind = r.kind
			why = strings.TrimPrefix(why+", and "+r.why, ", and ")
		}
	}
	if why != "" {
		if kind == expr.Unproven || kind == expr.Impure {
			remedy = "read a field, or a getter that only reads fields"
			if k.scope.OwnOnly {
				remedy = fmt.Sprintf("read a field that %s can see, or a getter of its own that only reads fields; sonde apply, which knows the loaded classes, can call other getters", descriptor.ExternalName(k.scope.Class.Name()))
			}
		}
		panic(k.fail(kind, s.Span, remedy, "%s", why))
	}
	if missing != "" {
		panic(k.fail(expr.Unproven, s.Span, "", "%s has no member %s among the known classes: class %s is unknown", descriptor.ExternalName(c.Name()), s.Name, descriptor.ExternalName(missing)))
	}
	what := "field or getter"
	if s.Call {
		what = "method without arguments"
	}
	panic(k.fail(expr.Unknown, s.Span, k.suggest(c), "%s has no %s %s", descriptor.ExternalName(c.Name()), what, s.Name))
}

// called returns the method with a name that fits the arguments of a step.
func (k *checker) called(c *Class, name string, s *expr.Step) (m *member, lacks string) {
	if s.Arg == nil {
		return k.method(c, name, "")
	}
	if !s.Hands {
		return k.method(c, name, "("+stringDesc+")")
	}
	for _, second := range []string{stringDesc, objectDesc} {
		if m, lacks = k.method(c, name, "("+stringDesc+second+")"); m != nil {
			break
		}
	}
	return m, lacks
}

// handing makes a call hand over the name of the running traced call. Its value is always null.
func (k *checker) handing(call *value, s *expr.Step) *value {
	call.typ, call.hands = typ{desc: stringDesc}, true
	if s.Unless != nil {
		call.unless = k.path(s.Unless)
		if call.unless.typ.desc != "Z" {
			panic(k.fail(expr.Mistyped, s.Unless.Span, "", "%s is not a boolean", s.Unless))
		}
	}
	return call
}

// getterNames returns the names of methods that a step may mean.
func getterNames(s *expr.Step) []string {
	if s.Call {
		return []string{s.Name}
	}
	capital := strings.ToUpper(s.Name[:1]) + s.Name[1:]
	return []string{s.Name, "get" + capital, "is" + capital}
}

// getter proves that a method can be called, and is pure.
func (k *checker) getter(v *value, c *Class, m *member) (made *value, refused *refusal) {
	defer func() {
		switch failure := recover().(type) {
		case nil:
		case *refusal:
			refused = failure
		default:
			panic(failure)
		}
	}()
	if why := k.sees(m, c); why != "" {
		return nil, &refusal{expr.Inaccessible, why}
	}
	op, owner := opcode.Invokevirtual, c.Name()
	switch {
	case m.access.Has(classfile.AccPrivate) && m.class.isInterface():
		return nil, &refusal{expr.Inaccessible, m.full() + " is private"}
	case c.isInterface() && m.class.Name() == objectClass:
		owner = objectClass
	case c.isInterface():
		op = opcode.Invokeinterface
	case m.access.Has(classfile.AccPrivate) && m.class.Name() == k.scope.Class.Name() && c.Name() == m.class.Name():
		op = opcode.Invokespecial // as in classes that know no nests
	case m.access.Has(classfile.AccPrivate) && c.Name() != m.class.Name():
		return nil, &refusal{expr.Inaccessible, m.full() + " is private"}
	}
	if !strings.HasPrefix(m.desc, "()") && !k.mayCall(m) {
		return nil, impure("%s has an argument, and no rule names it", m.full())
	}
	(&prover{checker: k}).proveCall(m, c)
	if k.isUncertain(c) && m.class != c { // pure by specification, as long as the class is still a subtype of that one
		v = &value{kind: fromNarrow, typ: classType(m.class.Name()), base: v, hard: true}
		op, owner = opcode.Invokevirtual, m.class.Name()
	}
	t := memberType(m.class.File, m.m, m.desc[strings.IndexByte(m.desc, ')')+1:])
	return &value{kind: fromCall, typ: t, base: v, ref: ref{op, owner, m.name, m.desc}}, nil
}

// suggest lists the fields of a class.
func (k *checker) suggest(c *Class) string {
	var names []string
	for i := range c.File.Fields {
		f := &c.File.Fields[i]
		if name, _, err := c.File.MemberName(f); err == nil && !f.Access.Has(classfile.AccStatic) && !f.Access.Has(classfile.AccSynthetic) {
			names = append(names, string(name))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "it has " + shortList(names)
}

const (
	objectClass = "java/lang/Object"
	stringClass = "java/lang/String"
	enumClass   = "java/lang/Enum"
	stringDesc  = "Ljava/lang/String;"
	objectDesc  = "Ljava/lang/Object;"
)

// typ is the static type of a value: a descriptor and, if the class file has them, type
// arguments.
type typ struct {
	desc string
	args []typ
}

func (t typ) isRef() bool   { return t.desc[0] == 'L' || t.desc[0] == '[' }
func (t typ) isArray() bool { return t.desc[0] == '[' }

// class returns the internal name of a class type, or "".
func (t typ) class() string {
	if t.desc[0] != 'L' {
		return ""
	}
	return t.desc[1 : len(t.desc)-1]
}

func (t typ) elem() typ { return typ{desc: t.desc[1:], args: t.args} }

// human returns the type in Java syntax.
func (t typ) human() string {
	s := descriptor.Type(t.desc).Human()
	if len(t.args) > 0 && !t.isArray() {
		var args []string
		for _, a := range t.args {
			args = append(args, a.human())
		}
		s += "<" + strings.Join(args, ", ") + ">"
	}
	return s
}

func classType(name string) typ { return typ{desc: "L" + name + ";"} }

// boxed are the primitive types of the classes that box them.
var boxed = map[string]struct{ desc, method string }{
	"java/lang/Boolean": {"Z", "booleanValue"}, "java/lang/Byte": {"B", "byteValue"}, "java/lang/Short": {"S", "shortValue"},
	"java/lang/Character": {"C", "charValue"}, "java/lang/Integer": {"I", "intValue"}, "java/lang/Long": {"J", "longValue"},
	"java/lang/Float": {"F", "floatValue"}, "java/lang/Double": {"D", "doubleValue"},
}

// memberType returns the type of a field, or of the result of a method, with type arguments
// if its signature agrees with the descriptor.
func memberType(c *classfile.Class, m *classfile.Member, desc string) typ {
	plain, text := typ{desc: desc}, signature(c, m)
	if _, result, err := descriptor.ParseMethodSignature(text); err == nil {
		return withArgs(plain, result)
	}
	if field, err := descriptor.ParseFieldSignature(text); err == nil {
		return withArgs(plain, field)
	}
	return plain
}

// signature returns the generic signature of a member, "" where the class file has none.
func signature(c *classfile.Class, m *classfile.Member) string {
	index := decoded[classfile.Signature](c, m.Attributes, classfile.KindSignature)
	text, _ := c.Pool.Utf8(uint16(index))
	return string(text)
}

// decoded returns the contents of the attribute of a kind, the zero value where there is none.
func decoded[T classfile.Contents](c *classfile.Class, attributes []classfile.Attribute, kind classfile.Kind) (contents T) {
	if a := c.Find(attributes, kind); a != nil {
		if any, err := c.Decode(*a); err == nil {
			contents, _ = any.(T)
		}
	}
	return contents
}

// parameterTypes returns the types of the parameters of a method.
func parameterTypes(c *classfile.Class, m *classfile.Member, d descriptor.Method) []typ {
	var list []typ
	for _, t := range d.Params() {
		list = append(list, typ{desc: string(t)})
	}
	// A signature omits the parameters that the compiler added, and is then ignored.
	if params, _, err := descriptor.ParseMethodSignature(signature(c, m)); err == nil && len(params) == len(list) {
		for i := range list {
			list[i] = withArgs(list[i], params[i])
		}
	}
	return list
}

// withArgs adds a signature's type arguments to a type with the same descriptor.
func withArgs(t typ, sig descriptor.Generic) typ {
	if string(sig.Erased) == t.desc {
		return fromSignature(sig)
	}
	return t
}

func fromSignature(sig descriptor.Generic) typ {
	t := typ{desc: string(sig.Erased)}
	for _, a := range sig.Args {
		t.args = append(t.args, fromSignature(a))
	}
	return t
}
