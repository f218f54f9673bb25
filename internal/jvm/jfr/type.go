package jfr

import "slices"

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
