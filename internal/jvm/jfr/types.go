package jfr

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// A kind says what a value consists of. kindNull also stands for values that cannot be read.
type kind uint8

const (
	kindNull kind = iota
	kindBool
	kindByte
	kindShort
	kindChar
	kindInt
	kindLong
	kindFloat
	kindDouble
	kindString
	kindStruct
	kindArray
)

// basicKinds are the types without fields. Every recording declares them, under numbers of
// its own.
var basicKinds = map[string]kind{
	"boolean": kindBool, "byte": kindByte, "short": kindShort, "char": kindChar, "int": kindInt, "long": kindLong,
	"float": kindFloat, "double": kindDouble, "java.lang.String": kindString,
}

// A typeDef is a type of events or values, as declared by the metadata of its chunk.
type typeDef struct {
	id     int64
	name   string // such as jdk.ExecutionSample
	fields []fieldDef
	simple bool // a value of the type stands for the value of its only field

	event  bool
	kind   kind
	depth  int         // of values within values
	broken bool        // contains itself, so that its values have no end, is nested too deeply, or takes no bytes
	alone  fieldDef    // a field of this type, for values that are not part of others
	reader eventReader // nil for events that are not read
}

type fieldDef struct {
	name   string
	typ    *typeDef
	array  bool
	pooled bool // the field holds the key of a value in a pool of the chunk
}

func (t *typeDef) skip(c *cursor) {
	switch t.kind {
	case kindBool, kindByte:
		c.byte()
	case kindShort, kindChar, kindInt, kindLong:
		c.long()
	case kindFloat:
		c.take(4)
	case kindDouble:
		c.take(8)
	case kindString:
		c.skipText()
	default:
		if t.broken {
			c.fail()
			return
		}
		for i := range t.fields {
			t.fields[i].skip(c)
		}
	}
}

func (f *fieldDef) skip(c *cursor) {
	n := 1
	if f.array {
		n = c.count()
	}
	for range n {
		if f.pooled {
			c.long()
		} else {
			f.typ.skip(c)
		}
		if c.short {
			return
		}
	}
}

// Event types that are part of the format and are not declared by metadata.
const (
	metadataEvent   = 0
	checkpointEvent = 1
)

// superEvent is the supertype of all events.
const superEvent = "jdk.jfr.Event"

var errShort = errors.New("it ends too early")

// metadata holds the types of a chunk by their numbers.
type metadata map[int64]*typeDef

// An element of the metadata, which is a tree like that of an XML document. All strings
// come first, in a table.
type element struct {
	name       string
	attributes map[string]string
	children   []element
}

// mostTexts bounds the texts of metadata. A JVM has some thousand.
const mostTexts = 1 << 20

// parseMetadata reads the event at the cursor, from its fields on:
//
//	long start, long duration, long generation, int count, count × string, element
//	element: int name, int count, count × (int key, int value), int count, count × element
func parseMetadata(c cursor) (metadata, error) {
	c.long()
	c.long()
	c.long()
	n := c.count()
	if n > mostTexts {
		return nil, fmt.Errorf("metadata: it declares %d texts, and at most %d are read", n, mostTexts)
	}
	texts := make([]string, 0, n)
	for range n {
		s, _, _ := c.text()
		texts = append(texts, s)
		if c.short {
			return nil, fmt.Errorf("metadata: %w", errShort)
		}
	}
	left := mostElements
	root := parseElement(&c, texts, 0, &left)
	if left < 0 {
		return nil, fmt.Errorf("metadata: more than %d elements and attributes", mostElements)
	}
	if c.short {
		return nil, fmt.Errorf("metadata: %w", errShort)
	}
	m := metadata{}
	for i := range root.children {
		if root.children[i].name == "metadata" {
			if err := m.declare(root.children[i].children); err != nil {
				return nil, err
			}
		}
	}
	if len(m) == 0 {
		return nil, errors.New("metadata: it declares no type")
	}
	return m, nil
}

const (
	// maxElements bounds the nesting of elements. The JVM uses five levels.
	maxElements = 16
	// mostElements bounds the number of elements and attributes. A JVM has a tenth of that.
	mostElements = 1 << 20
)

// parseElement reads an element and those in it. left is how many more there may be.
func parseElement(c *cursor, texts []string, depth int, left *int) element {
	text := func() string {
		i := c.long()
		if i >= uint64(len(texts)) {
			c.fail()
			return ""
		}
		return texts[i]
	}
	if *left--; depth > maxElements || *left < 0 {
		c.fail()
		return element{}
	}
	e := element{name: text(), attributes: map[string]string{}}
	// The two counts are bounded by the bytes that are left, but that alone would let each
	// of many elements claim all of them.
	for range c.count() {
		key := text()
		e.attributes[key] = text()
		if *left--; c.short || *left < 0 {
			c.fail()
			return e
		}
	}
	for range c.count() {
		e.children = append(e.children, parseElement(c, texts, depth+1, left))
		if c.short {
			return e
		}
	}
	return e
}

// declare creates types from their elements. A field may refer to any type by its number,
// so fields are added when all types are known.
func (m metadata) declare(classes []element) error {
	classes = slices.DeleteFunc(slices.Clone(classes), func(e element) bool { return e.name != "class" })
	types := make([]*typeDef, len(classes))
	for i, class := range classes {
		id, err := strconv.ParseInt(class.attributes["id"], 10, 64)
		if err != nil {
			return fmt.Errorf("metadata: type %q has no number: %w", class.attributes["name"], err)
		}
		t := &typeDef{
			id: id, name: class.attributes["name"], kind: kindStruct,
			event: class.attributes["superType"] == superEvent, simple: class.attributes["simpleType"] == "true",
		}
		if kind, ok := basicKinds[t.name]; ok {
			t.kind = kind
		}
		if t.event {
			t.reader = eventReaders[t.name]
		}
		t.alone.typ = t
		m[id], types[i] = t, t
	}
	for i, t := range types {
		if err := m.define(t, classes[i].children); err != nil {
			return err
		}
	}
	analyse(types)
	return nil
}

func (m metadata) define(t *typeDef, children []element) error {
	for _, child := range children {
		if child.name != "field" {
			continue
		}
		f := fieldDef{
			name:   child.attributes["name"],
			array:  child.attributes["dimension"] == "1",
			pooled: child.attributes["constantPool"] == "true",
		}
		if id, err := strconv.ParseInt(child.attributes["class"], 10, 64); err == nil {
			f.typ = m[id]
		}
		if f.typ == nil {
			return fmt.Errorf("metadata: field %s of %s has an unknown type", f.name, t.name)
		}
		t.fields = append(t.fields, f)
	}
	return nil
}

// maxNesting bounds the nesting of values within values. The JVM uses two levels.
const maxNesting = 16

// analyse finds the types whose values have no end or take no bytes, so that reading an array
// of them could take for ever. It must be called once, when all types have their fields.
func analyse(types []*typeDef) {
	const underWay, done = 1, 2
	state := make(map[*typeDef]int, len(types))
	var visit func(t *typeDef, depth int)
	visit = func(t *typeDef, depth int) {
		if t.kind != kindStruct || state[t] == done {
			return
		}
		if state[t] == underWay || depth > maxNesting {
			t.broken = true
			return
		}
		state[t] = underWay
		t.broken = len(t.fields) == 0
		for _, f := range t.fields {
			if !f.pooled {
				visit(f.typ, depth+1)
				t.depth = max(t.depth, f.typ.depth+1)
				t.broken = t.broken || f.typ.broken || t.depth > maxNesting
			}
		}
		state[t] = done
	}
	for _, t := range types {
		visit(t, 0)
	}
}
