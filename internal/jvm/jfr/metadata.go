package jfr

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

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
