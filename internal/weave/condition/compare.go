package condition

import (
	"math"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/spec/expr"
)

const invokevirtual = opcode.Invokevirtual

// The methods of strings that conditions call.
var (
	stringLength     = ref{invokevirtual, stringClass, "length", "()I"}
	stringEquals     = ref{invokevirtual, stringClass, "equals", "(" + objectDesc + ")Z"}
	stringStartsWith = ref{invokevirtual, stringClass, "startsWith", "(" + stringDesc + "I)Z"}
)

var mirrored = map[string]string{"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

// comparison checks l op r. It moves a constant to the right.
func (k *checker) comparison(n *expr.Comparison) cond {
	l, r, op := n.L, n.R, n.Op
	if isConstant(l) && !isConstant(r) {
		l, r, op = r, l, mirrored[op]
	}
	v := k.operand(l)
	if !isConstant(r) {
		return k.values(n, op, v, k.operand(r))
	}
	if lit, ok := r.(*expr.Literal); ok && lit.Kind == expr.Null {
		return k.nothing(n, op, l, v)
	}
	kc, v := k.against(l, v, r)
	k.ordered(n, op, kc.kind, v)
	return &compared{op: op, kind: kc.kind, l: v, c: kc.c}
}

func isConstant(n expr.Node) bool {
	switch n.(type) {
	case *expr.Literal, *expr.Name:
		return true
	}
	return false
}

// nothing checks a comparison with null.
func (k *checker) nothing(n *expr.Comparison, op string, l expr.Node, v *value) cond {
	if !v.nullable() {
		panic(k.fail(expr.Mistyped, n.Span, "", "%s is never null", l))
	}
	switch op {
	case "==":
		return &isNull{v, false}
	case "!=":
		return &isNull{v, true}
	}
	panic(k.fail(expr.Mistyped, n.Span, "only == and != can test for null", "null is neither less nor greater"))
}

// ordered refuses < and > for values that have no order.
func (k *checker) ordered(n *expr.Comparison, op string, kind byte, v *value) {
	if op != "==" && op != "!=" && (kind == 'A' || v.typ.desc == "Z" || v.named) {
		panic(k.fail(expr.Mistyped, n.Span, "only == and != compare such values", "%s has no order", n.L))
	}
}

// against returns the constant that a value is compared with, its kind, and the converted value.
func (k *checker) against(at expr.Node, v *value, c expr.Node) (kindConstant, *value) {
	wrong := func(remedy string) *expr.Error {
		return k.fail(expr.Mistyped, at.Place().To(c.Place()), remedy, "%s is %s and %s is %s", at, v.typ.human(), c, constantKind(c))
	}
	v = k.unboxed(v)
	if e := k.enum(v); e != nil {
		return k.enumConstant(v, e, c, wrong)
	}
	lit, ok := c.(*expr.Literal)
	if !ok {
		if k.text(v) != nil {
			panic(wrong(`strings stand between double quotes: "` + c.String() + `"`))
		}
		panic(wrong(""))
	}
	switch {
	case lit.Kind == expr.String:
		if v.typ.desc == "C" && chars(lit.Text) == 1 {
			panic(wrong("a char stands between single quotes: '" + lit.Text + "'"))
		}
		s := k.text(v)
		if s == nil {
			panic(wrong(""))
		}
		return kindConstant{'S', &constant{text: lit.Text}}, s
	case lit.Kind == expr.Bool:
		if v.typ.desc != "Z" {
			panic(wrong(""))
		}
		return kindConstant{'I', &constant{number: lit.Number}}, v
	case lit.Kind == expr.Null:
		panic(wrong("write == null as a separate comparison"))
	case !isNumber(v.typ):
		if v.typ.class() == objectClass {
			panic(wrong("its type of number is unknown: read a field or getter that declares a type"))
		}
		panic(wrong(""))
	}
	kind, made := numberAs(v.typ.desc[0], lit)
	return kindConstant{kind, made}, v
}

func isNumber(t typ) bool { return strings.IndexByte("BCSIJFD", t.desc[0]) >= 0 }

// enumConstant finds the constant of an enum.
func (k *checker) enumConstant(v *value, e *Class, c expr.Node, wrong func(remedy string) *expr.Error) (kindConstant, *value) {
	text := ""
	switch c := c.(type) {
	case *expr.Name:
		text = c.Text
	case *expr.Literal:
		if c.Kind != expr.String {
			panic(wrong("an enum is compared with the name of a constant"))
		}
		text = c.Text
	}
	if all := constants(e); !slices.Contains(all, text) {
		panic(k.fail(expr.Unknown, c.Place(), "it has "+shortList(all), "%s has no constant %s", descriptor.ExternalName(e.Name()), text))
	}
	return kindConstant{'S', &constant{text: text}}, k.text(v)
}

func shortList(names []string) string {
	const some = 8
	if len(names) > some {
		return strings.Join(names[:some], ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}

func constantKind(n expr.Node) string {
	lit, ok := n.(*expr.Literal)
	if !ok {
		return "a bare word"
	}
	return [...]string{"a whole number", "a decimal number", "a duration", "a char", "a string", "a boolean", "null"}[lit.Kind]
}

// numberAs returns the kind as which a number of a primitive type is compared with a
// constant: ints as ints, longs as longs, floats as floats if the constant is decimal or
// fits, everything else as doubles.
func numberAs(desc byte, lit *expr.Literal) (byte, *constant) {
	c := &constant{number: lit.Number, float: float64(lit.Number)}
	if lit.Kind == expr.Float {
		c.float = lit.Float
		if desc == 'F' {
			return 'F', c
		}
		return 'D', c
	}
	switch desc {
	case 'D':
		return 'D', c
	case 'F':
		if int64(float32(lit.Number)) == lit.Number && lit.Number < 1<<62 {
			return 'F', c
		}
		return 'D', c
	case 'J':
		return 'J', c
	}
	if lit.Long || lit.Kind == expr.Duration || lit.Number < math.MinInt32 || lit.Number > math.MaxInt32 {
		return 'J', c
	}
	return 'I', c
}

// values checks a comparison of two values.
func (k *checker) values(n *expr.Comparison, op string, v, w *value) cond {
	v, w = k.unboxed(v), k.unboxed(w)
	made := func(kind byte, v, w *value) cond {
		k.ordered(n, op, kind, v)
		return &compared{op: op, kind: kind, l: v, r: w}
	}
	a, b := v.typ, w.typ
	switch {
	case isNumber(a) && isNumber(b):
		return made(joined(a.desc[0], b.desc[0]), v, w)
	case a.desc == "Z" && b.desc == "Z":
		return made('I', v, w)
	case a.class() == stringClass && k.enum(w) == nil && k.text(w) != nil, b.class() == stringClass && k.enum(v) == nil && k.text(v) != nil:
		return made('S', k.text(v), k.text(w))
	case a.isRef() && b.isRef() && (a.desc == b.desc || a.class() == objectClass || b.class() == objectClass):
		return made('A', v, w)
	}
	panic(k.fail(expr.Mistyped, n.Span, "", "%s is %s and %s is %s", n.L, a.human(), n.R, b.human()))
}

// joined returns the kind as which two numbers are compared.
func joined(a, b byte) byte {
	switch {
	case a == 'F' && b == 'F':
		return 'F'
	case a == 'F' || a == 'D' || b == 'F' || b == 'D':
		return 'D'
	case a == 'J' || b == 'J':
		return 'J'
	}
	return 'I'
}

// membership checks x in (...).
func (k *checker) membership(n *expr.Membership) cond {
	v := k.operand(n.X)
	made := &among{}
	for _, c := range n.List {
		if !isConstant(c) {
			panic(k.fail(expr.Mistyped, c.Place(), "compare with == instead", "only constants can be in a list"))
		}
		var kc kindConstant
		kc, made.x = k.against(n.X, v, c)
		made.list = append(made.list, kc)
	}
	return made
}

// An implementation is a class of collections. Elements and sizes are read only if the class
// of the object is exactly one whose method is known to be pure: a subclass, or any other
// implementation, could do anything. For other classes the condition is undecided.
//
// Deliberately missing: LinkedHashMap.get, which moves the entry of a map in access order;
// Hashtable, Vector and the synchronized wrappers, which lock; LinkedList.get, which iterates;
// TreeMap.get, which calls a comparator; the unmodifiable wrappers, which call whatever they
// wrap. With a string as the key a map calls equals, hashCode and compareTo of strings only.
//
// ConcurrentHashMap.get counts readers of an overfull bin by compare-and-set, and strings and
// classes of the JDK cache a hash or name: the program can observe neither.
type implementation struct {
	class  string // internal name
	public bool   // woven code may name it; others are identified by Class.getName, as only the JDK defines classes in java.*
}

// use is a method of collections that conditions call.
type use struct {
	class   string // interface
	name    string
	desc    string
	classes []implementation
}

var (
	listClasses = []implementation{
		{"java/util/ArrayList", true}, {"java/util/concurrent/CopyOnWriteArrayList", true},
		{"java/util/ImmutableCollections$ListN", false}, {"java/util/ImmutableCollections$List12", false},
		{"java/util/Arrays$ArrayList", false}, {"java/util/Collections$SingletonList", false}, {"java/util/Collections$EmptyList", false},
	}
	mapClasses = []implementation{
		{"java/util/HashMap", true}, {"java/util/concurrent/ConcurrentHashMap", true},
		{"java/util/ImmutableCollections$MapN", false}, {"java/util/ImmutableCollections$Map1", false},
		{"java/util/Collections$SingletonMap", false}, {"java/util/Collections$EmptyMap", false},
	}
	sizedCollections = slices.Concat([]implementation{
		{"java/util/ArrayList", true}, {"java/util/HashSet", true}, {"java/util/LinkedHashSet", true}, {"java/util/LinkedList", true},
		{"java/util/ArrayDeque", true}, {"java/util/PriorityQueue", true}, {"java/util/concurrent/CopyOnWriteArrayList", true},
		{"java/util/ImmutableCollections$SetN", false}, {"java/util/ImmutableCollections$Set12", false}, {"java/util/Collections$EmptySet", false},
	}, listClasses[2:])
	sizedMaps = slices.Concat([]implementation{
		{"java/util/HashMap", true}, {"java/util/LinkedHashMap", true}, {"java/util/TreeMap", true}, {"java/util/concurrent/ConcurrentHashMap", true},
	}, mapClasses[2:])

	listGet        = use{"java/util/List", "get", "(I)Ljava/lang/Object;", listClasses}
	mapGet         = use{"java/util/Map", "get", "(Ljava/lang/Object;)Ljava/lang/Object;", mapClasses}
	collectionSize = use{"java/util/Collection", "size", "()I", sizedCollections}
	collectionNone = use{"java/util/Collection", "isEmpty", "()Z", sizedCollections}
	mapSize        = use{"java/util/Map", "size", "()I", sizedMaps}
	mapNone        = use{"java/util/Map", "isEmpty", "()Z", sizedMaps}
)

// Static types of values that may be such objects.
var (
	listTypes = []string{objectClass, "java/lang/Iterable", "java/util/Collection", "java/util/SequencedCollection", "java/util/List",
		"java/util/AbstractCollection", "java/util/AbstractList", "java/util/ArrayList", "java/util/concurrent/CopyOnWriteArrayList"}
	mapTypes = []string{objectClass, "java/util/Map", "java/util/AbstractMap", "java/util/HashMap",
		"java/util/concurrent/ConcurrentMap", "java/util/concurrent/ConcurrentHashMap"}
	collectionTypes = slices.Concat(listTypes[2:], []string{"java/util/Set", "java/util/Queue", "java/util/Deque", "java/util/AbstractSet",
		"java/util/HashSet", "java/util/LinkedHashSet", "java/util/LinkedList", "java/util/ArrayDeque", "java/util/PriorityQueue"})
	sizedMapTypes = slices.Concat(mapTypes[1:], []string{"java/util/SortedMap", "java/util/NavigableMap", "java/util/LinkedHashMap", "java/util/TreeMap", "java/util/SequencedMap"})
)

// intrinsic returns the meaning of a step on strings and collections, or nil.
func (k *checker) intrinsic(v *value, s *expr.Step) *value {
	class := v.typ.class()
	switch {
	case class == stringClass && s.Name == "length":
		return &value{kind: fromCall, typ: typ{desc: "I"}, base: v, ref: stringLength}
	case class == stringClass && s.Name == "isEmpty":
		return &value{kind: fromCall, typ: typ{desc: "Z"}, base: v, ref: ref{invokevirtual, stringClass, "isEmpty", "()Z"}}
	}
	for _, sized := range []struct {
		types []string
		uses  []*use
	}{
		{collectionTypes, []*use{&collectionSize, &collectionNone}},
		{sizedMapTypes, []*use{&mapSize, &mapNone}},
	} {
		for _, u := range sized.uses {
			if s.Name == u.name && slices.Contains(sized.types, class) {
				return &value{kind: fromUse, typ: typ{desc: u.desc[2:]}, base: v, use: u}
			}
		}
	}
	return nil
}

// element checks v[index].
func (k *checker) element(v *value, s *expr.Step) *value {
	number := s.Index.Kind == expr.Int
	class := v.typ.class()
	switch {
	case v.typ.isArray() && number:
		return &value{kind: fromElement, typ: v.typ.elem(), base: v, n: int32(s.Index.Number)}
	case v.typ.isArray():
		panic(k.fail(expr.Mistyped, s.Span, "write [0]", "%s is an array", v.typ.human()))
	case number && slices.Contains(listTypes, class):
		made := &value{kind: fromUse, typ: classType(objectClass), base: v, use: &listGet, n: int32(s.Index.Number)}
		return k.narrowed(made, v.typ, 1)
	case !number && slices.Contains(mapTypes, class):
		made := &value{kind: fromUse, typ: classType(objectClass), base: v, use: &mapGet, text: s.Index.Text}
		return k.narrowed(made, v.typ, 2)
	case class == "java/util/LinkedHashMap":
		panic(k.fail(expr.Impure, s.Span, "", "java.util.LinkedHashMap.get may move the entry"))
	case number && slices.Contains(sizedMapTypes, class):
		panic(k.fail(expr.Mistyped, s.Span, `write ["key"]: only strings can be keys, because other keys would have to be created`, "%s is a map", v.typ.human()))
	case !number && slices.Contains(collectionTypes, class):
		panic(k.fail(expr.Mistyped, s.Span, "write [0]", "%s is not a map", v.typ.human()))
	}
	panic(k.fail(expr.Impure, s.Span, "elements can be read from arrays and lists by number, and from maps by string", "reading an element of %s may have side effects", v.typ.human()))
}

// narrowed casts an element to the type argument of the collection, if the class of the
// method may name that type.
func (k *checker) narrowed(v *value, of typ, arguments int) *value {
	if len(of.args) != arguments {
		return v
	}
	t := of.args[arguments-1]
	if t.class() == "" || t.class() == objectClass {
		return v
	}
	c := k.look(t.class())
	if c == nil || k.seesClass(c) != "" {
		return v
	}
	return &value{kind: fromNarrow, typ: t, base: v, hard: true}
}
