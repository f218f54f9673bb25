package condition

import (
	"slices"

	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// Elements of lists and maps are read only where the object at hand is, exactly, of a
// class whose methods are known to be pure for the use: a subclass, or any other
// implementation, could do anything. Where it is of another class the condition is
// left undecided, which counts as false and is counted.
//
// Left out on purpose: LinkedHashMap.get, which moves the entry of a map in access
// order; Hashtable, Vector and the synchronized wrappers, which lock; LinkedList.get,
// which walks; TreeMap.get, which asks a comparator; the unmodifiable wrappers, which
// ask whatever they wrap. With a string as the key a map calls the equals, hashCode and
// compareTo of strings and nothing else.
//
// ConcurrentHashMap.get counts readers of an overfull bin by compare-and-set, and the
// JDK's strings and classes keep a hash or name once computed: neither can be seen.
type implementation struct {
	class  string // internal name
	public bool   // so that woven code may name it; others are known by Class.getName, as only the JDK defines classes in java.*
}

// use is a way to ask a collection something.
type use struct {
	class   string // the interface that is called
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

// Static types that may hold such objects.
var (
	listTypes = []string{objectClass, "java/lang/Iterable", "java/util/Collection", "java/util/SequencedCollection", "java/util/List",
		"java/util/AbstractCollection", "java/util/AbstractList", "java/util/ArrayList", "java/util/concurrent/CopyOnWriteArrayList"}
	mapTypes = []string{objectClass, "java/util/Map", "java/util/AbstractMap", "java/util/HashMap",
		"java/util/concurrent/ConcurrentMap", "java/util/concurrent/ConcurrentHashMap"}
	collectionTypes = slices.Concat(listTypes[2:], []string{"java/util/Set", "java/util/Queue", "java/util/Deque", "java/util/AbstractSet",
		"java/util/HashSet", "java/util/LinkedHashSet", "java/util/LinkedList", "java/util/ArrayDeque", "java/util/PriorityQueue"})
	sizedMapTypes = slices.Concat(mapTypes[1:], []string{"java/util/SortedMap", "java/util/NavigableMap", "java/util/LinkedHashMap", "java/util/TreeMap", "java/util/SequencedMap"})
)

// intrinsic finds what a step means on strings and collections, nil where nothing.
func (k *checker) intrinsic(v *value, s *step) *value {
	class := v.typ.class()
	sized := func(size, none *use) *value {
		u := size
		switch s.name {
		case "size":
		case "isEmpty":
			u = none
		default:
			return nil
		}
		return &value{kind: fromSize, typ: typ{desc: u.desc[2:]}, base: v, ref: ref{opcode.Invokeinterface, u.class, u.name, u.desc}}
	}
	switch {
	case class == stringClass && s.name == "length":
		return &value{kind: fromCall, typ: typ{desc: "I"}, base: v, ref: ref{invokevirtual, stringClass, "length", "()I"}}
	case class == stringClass && s.name == "isEmpty":
		return &value{kind: fromCall, typ: typ{desc: "Z"}, base: v, ref: ref{invokevirtual, stringClass, "isEmpty", "()Z"}}
	case slices.Contains(collectionTypes, class):
		return sized(&collectionSize, &collectionNone)
	case slices.Contains(sizedMapTypes, class):
		return sized(&mapSize, &mapNone)
	}
	return nil
}

// classesFor are the implementations that a size may be asked of.
func classesFor(r ref) []implementation {
	if r.class == mapSize.class {
		return sizedMaps
	}
	return sizedCollections
}

// element checks v[index].
func (k *checker) element(v *value, s *step) (*value, *Error) {
	number := s.index.kind == litInt
	class := v.typ.class()
	switch {
	case v.typ.isArray() && number:
		return &value{kind: fromElement, typ: v.typ.elem(), base: v, n: int32(s.index.number)}, nil
	case v.typ.isArray():
		return nil, k.fail(Mistyped, s.span, "write [0]", "%s is an array", v.typ.human())
	case number && slices.Contains(listTypes, class):
		made := &value{kind: fromList, typ: classType(objectClass), base: v, n: int32(s.index.number)}
		return k.narrowed(made, v.typ, 1), nil
	case !number && slices.Contains(mapTypes, class):
		made := &value{kind: fromMap, typ: classType(objectClass), base: v, text: s.index.text}
		return k.narrowed(made, v.typ, 2), nil
	case class == "java/util/LinkedHashMap":
		return nil, k.fail(Impure, s.span, "", "java.util.LinkedHashMap.get may move the entry")
	case number && slices.Contains(sizedMapTypes, class):
		return nil, k.fail(Mistyped, s.span, `write ["key"]: other keys would have to be made`, "%s is a map", v.typ.human())
	case !number && slices.Contains(collectionTypes, class):
		return nil, k.fail(Mistyped, s.span, "write [0]", "%s is not a map", v.typ.human())
	}
	return nil, k.fail(Impure, s.span, "elements are read of arrays, of lists by number and of maps by string", "what %s does to find an element is not known to be pure", v.typ.human())
}

// narrowed gives an element the type that the collection's type arguments promise, if
// the method's class may name it.
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
