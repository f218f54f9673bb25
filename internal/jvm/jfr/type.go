package jfr

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// A Kind is what a value is made of.
type Kind uint8

// The kinds of values. Null is also what cannot be read.
const (
	Null Kind = iota
	Bool
	Byte
	Short
	Char
	Int
	Long
	Float
	Double
	String
	Struct
	Array
)

// basic are the types that are not made of fields. Every recording declares
// them, under numbers of its own.
var basic = map[string]Kind{
	"boolean": Bool, "byte": Byte, "short": Short, "char": Char, "int": Int, "long": Long,
	"float": Float, "double": Double, "java.lang.String": String,
}

// A Type is that of events or of values, as the metadata of its chunk has it.
type Type struct {
	ID          int64
	Name        string // such as jdk.ExecutionSample
	Fields      []Field
	Simple      bool // stands for the value of its only field
	Annotations []Annotation

	event  bool
	kind   Kind
	depth  int   // of values within values
	empty  bool  // takes no bytes
	broken bool  // contains itself, so that its values have no end, or is too deep
	pool   *pool // of the chunk, nil where it holds none of the type
	plan   *samplePlan
	notice notice
	wanted bool
	alone  Field // of this type, for values that are no part of others

	// The fields that most events have, -1 where one does not.
	start, duration, thread, stack int
}

// A Field is one of a type.
type Field struct {
	Name        string
	Type        *Type
	Array       bool
	Pooled      bool // the value is in a pool of the chunk, and here is its key
	Annotations []Annotation
	unit        unit
	unsigned    bool
}

// An Annotation says what the numbers of a field mean, or more of a type.
type Annotation struct {
	Name  string // such as jdk.jfr.Timespan
	Value string // such as NANOSECONDS
}

// IsEvent tells types of events from those of values.
func (t *Type) IsEvent() bool { return t.event }

// Field returns the field of a name, nil where there is none.
func (t *Type) Field(name string) *Field {
	if i := t.index(name); i >= 0 {
		return &t.Fields[i]
	}
	return nil
}

func (t *Type) index(name string) int {
	for i := range t.Fields {
		if t.Fields[i].Name == name {
			return i
		}
	}
	return -1
}

func (t *Type) skip(c *cursor) {
	switch t.kind {
	case Bool, Byte:
		c.byte()
	case Short, Char:
		c.int16()
	case Int:
		if c.fixed {
			c.take(4)
		} else {
			c.skipLong()
		}
	case Long:
		c.skipLong()
	case Float:
		c.take(4)
	case Double:
		c.take(8)
	case String:
		c.skipText()
	default:
		if t.broken {
			c.fail()
			return
		}
		for i := range t.Fields {
			t.Fields[i].skip(c)
		}
	}
}

func (f *Field) skip(c *cursor) {
	n := 1
	if f.Array {
		n = c.count()
	}
	f.skipElements(n, c)
}

func (f *Field) skipElements(n int, c *cursor) {
	if f.empty() {
		return
	}
	for range n {
		if f.Pooled {
			c.skipLong()
		} else {
			f.Type.skip(c)
		}
		if c.short {
			return
		}
	}
}

// empty says whether an element of the field takes no bytes.
func (f *Field) empty() bool { return !f.Pooled && f.Type.empty }

// maxNesting is how deep values may lie within values. The JVM goes two deep.
const maxNesting = 16

// settle finds out which types take no bytes, and which have no end. It must be
// called once, when all types have their fields.
func settle(types []*Type) {
	const underWay, done = 1, 2
	state := make(map[*Type]int, len(types))
	var visit func(t *Type, depth int)
	visit = func(t *Type, depth int) {
		if t.kind != Struct || state[t] == done {
			return
		}
		if state[t] == underWay || depth > maxNesting {
			t.broken = true
			return
		}
		state[t] = underWay
		t.empty = true
		for i := range t.Fields {
			f := &t.Fields[i]
			if !f.Pooled {
				visit(f.Type, depth+1)
				t.depth = max(t.depth, f.Type.depth+1)
				t.broken = t.broken || f.Type.broken || t.depth > maxNesting
			}
			if f.Array || !f.empty() {
				t.empty = false
			}
		}
		state[t] = done
	}
	for _, t := range types {
		visit(t, 0)
	}
}

// A unit is how a number of a field becomes a time or a duration.
type unit uint8

const (
	unitNone unit = iota
	unitTicks
	unitNanos
	unitMicros
	unitMillis
	unitSeconds
	unitSinceEpoch // ms since 1970
	unitTickTime   // an instant in ticks
)

var spans = map[string]unit{
	"TICKS": unitTicks, "NANOSECONDS": unitNanos, "MICROSECONDS": unitMicros, "MILLISECONDS": unitMillis, "SECONDS": unitSeconds,
}

func unitOf(annotations []Annotation) unit {
	i := slices.IndexFunc(annotations, func(a Annotation) bool {
		return a.Name == "jdk.jfr.Timespan" || a.Name == "jdk.jfr.Timestamp"
	})
	switch {
	case i < 0:
		return unitNone
	case annotations[i].Name == "jdk.jfr.Timespan":
		return spans[annotations[i].Value]
	case annotations[i].Value == "TICKS":
		return unitTickTime
	case annotations[i].Value == "MILLISECONDS_SINCE_EPOCH":
		return unitSinceEpoch
	}
	return unitNone
}

// Event types that are part of the format and in no metadata.
const (
	metadataEvent   = 0
	checkpointEvent = 1
)

const eventType = "jdk.jfr.Event"

var errShort = errors.New("it ends before all it announces")

// metadata holds the types of a chunk.
type metadata struct {
	types  []*Type
	dense  []*Type // by number, for the small ones; the JVM has no others
	sparse map[int64]*Type
}

// maxDense bounds the memory for types that are looked up by their number alone.
const maxDense = 1 << 16

func (m *metadata) lookup(id int64) *Type {
	if uint64(id) < uint64(len(m.dense)) {
		return m.dense[id]
	}
	return m.sparse[id]
}

func (m *metadata) add(t *Type) {
	m.types = append(m.types, t)
	if t.ID < 0 || t.ID >= maxDense {
		m.sparse[t.ID] = t
		return
	}
	for int64(len(m.dense)) <= t.ID {
		m.dense = append(m.dense, nil)
	}
	m.dense[t.ID] = t
}

// An element of the metadata, which is a tree like that of an XML document:
// its name, its attributes and what is in it, with all texts in a table before.
type element struct {
	name       string
	attributes []attribute
	children   []element
}

type attribute struct{ name, value string }

func (e *element) attribute(name string) string {
	for _, a := range e.attributes {
		if a.name == name {
			return a.value
		}
	}
	return ""
}

// parseMetadata reads the event at the cursor, whose size and type are passed:
//
//	long start, long duration, long generation, int count, count × string, element
//	element: int name, int count, count × (int key, int value), int count, count × element
func parseMetadata(c cursor) (*metadata, error) {
	c.long()
	c.long()
	c.long()
	texts := make([]string, 0, c.count())
	for range cap(texts) {
		s, _, _ := c.text()
		texts = append(texts, s)
		if c.short {
			return nil, fmt.Errorf("metadata: %w", errShort)
		}
	}
	root := parseElement(&c, texts, 0)
	if c.short {
		return nil, fmt.Errorf("metadata: %w", errShort)
	}
	m := &metadata{sparse: map[int64]*Type{}}
	for i := range root.children {
		if root.children[i].name == "metadata" {
			if err := m.declare(root.children[i].children); err != nil {
				return nil, err
			}
		}
	}
	if len(m.types) == 0 {
		return nil, errors.New("metadata: it declares no type")
	}
	return m, nil
}

// maxElements is how deep elements may lie within elements. The JVM goes five
// deep.
const maxElements = 16

func parseElement(c *cursor, texts []string, depth int) element {
	text := func() string {
		i := c.int()
		if i < 0 || int(i) >= len(texts) {
			c.fail()
			return ""
		}
		return texts[i]
	}
	if depth > maxElements {
		c.fail()
		return element{}
	}
	e := element{name: text()}
	// The two counts below are bounded by what is left, but that alone would
	// let each element of many claim all of it.
	for range c.count() {
		e.attributes = append(e.attributes, attribute{text(), text()})
		if c.short {
			return e
		}
	}
	for range c.count() {
		e.children = append(e.children, parseElement(c, texts, depth+1))
		if c.short {
			return e
		}
	}
	return e
}

// declare makes types of their elements. Fields name types by number, and may
// name any of them, so fields follow when all types are known.
func (m *metadata) declare(classes []element) error {
	var defined []*element
	for i := range classes {
		class := &classes[i]
		if class.name != "class" {
			continue
		}
		id, err := strconv.ParseInt(class.attribute("id"), 10, 64)
		if err != nil {
			return fmt.Errorf("metadata: type %q has no number: %w", class.attribute("name"), err)
		}
		t := &Type{ID: id, Name: class.attribute("name"), kind: Struct}
		if kind, ok := basic[t.Name]; ok {
			t.kind = kind
		}
		t.event = class.attribute("superType") == eventType
		t.Simple = class.attribute("simpleType") == "true"
		t.alone.Type = t
		m.add(t)
		defined = append(defined, class)
	}
	for i, class := range defined {
		if err := m.define(m.types[i], class); err != nil {
			return err
		}
	}
	settle(m.types)
	return nil
}

func (m *metadata) define(t *Type, class *element) error {
	t.Annotations = m.annotations(class)
	for i := range class.children {
		child := &class.children[i]
		if child.name != "field" {
			continue
		}
		f := Field{
			Name:   child.attribute("name"),
			Array:  child.attribute("dimension") == "1",
			Pooled: child.attribute("constantPool") == "true",
		}
		if id, err := strconv.ParseInt(child.attribute("class"), 10, 64); err == nil {
			f.Type = m.lookup(id)
		}
		if f.Type == nil {
			return fmt.Errorf("metadata: field %s of %s is of no known type", f.Name, t.Name)
		}
		f.Annotations = m.annotations(child)
		f.unit = unitOf(f.Annotations)
		f.unsigned = slices.Contains(f.Annotations, Annotation{Name: "jdk.jfr.Unsigned"})
		t.Fields = append(t.Fields, f)
	}
	if t.event {
		t.start, t.duration = t.index("startTime"), t.index("duration")
		t.thread, t.stack = t.index("eventThread"), t.index("stackTrace")
		t.plan = newSamplePlan(t)
		t.notice = notices[t.Name]
	}
	return nil
}

func (m *metadata) annotations(of *element) []Annotation {
	var annotations []Annotation
	for i := range of.children {
		child := &of.children[i]
		if child.name != "annotation" {
			continue
		}
		id, err := strconv.ParseInt(child.attribute("class"), 10, 64)
		if err != nil {
			continue
		}
		if t := m.lookup(id); t != nil {
			annotations = append(annotations, Annotation{Name: t.Name, Value: child.attribute("value")})
		}
	}
	return annotations
}
