package classfile

// MaxAnnotationDepth is how deep arrays and annotations may nest in the value of an
// annotation's element. Source code nests a handful; the specification sets no
// bound, but our stack does.
const MaxAnnotationDepth = 200

// ElementValue is a value in an annotation.
//
//	B C D F I J S Z s   u2 constant
//	e                   u2 type, constant
//	c                   u2 class
//	@                   annotation
//	[                   u2 n; element_value values[n]
type ElementValue struct {
	Tag    byte
	Index  uint16         // constant; the enum's constant name, Utf8; the class's return descriptor, Utf8
	Enum   uint16         // of an enum: Utf8 entry with its type's descriptor
	Nested *Annotation    // of an annotation
	Array  []ElementValue // of an array
}

func (in *decoder) elementValue(depth int) ElementValue {
	at := in.at
	v := ElementValue{Tag: in.u1()}
	if in.short {
		return v
	}
	if depth > MaxAnnotationDepth {
		in.defect(at, "values nest deeper than %d", MaxAnnotationDepth)
		return v
	}
	switch v.Tag {
	case 'B', 'C', 'I', 'S', 'Z':
		v.Index = in.ref(integerEntry)
	case 'D':
		v.Index = in.ref(doubleEntry)
	case 'F':
		v.Index = in.ref(floatEntry)
	case 'J':
		v.Index = in.ref(longEntry)
	case 's', 'c':
		v.Index = in.ref(utf8Entry)
	case 'e':
		v.Enum, v.Index = in.ref(utf8Entry), in.ref(utf8Entry)
	case '@':
		nested := in.annotation(depth + 1)
		v.Nested = &nested
	case '[':
		v.Array = make([]ElementValue, in.count(3, "values"))
		for i := range v.Array {
			v.Array[i] = in.elementValue(depth + 1)
		}
	default:
		in.defect(at, "no such element value tag: %d", v.Tag)
	}
	return v
}

func (out *encoder) elementValue(v *ElementValue, depth int) {
	if depth > MaxAnnotationDepth {
		out.defect("values nest deeper than %d", MaxAnnotationDepth)
		return
	}
	out.u1(v.Tag)
	switch v.Tag {
	case 'B', 'C', 'D', 'F', 'I', 'J', 'S', 'Z', 's', 'c':
		out.u2(v.Index)
	case 'e':
		out.u2(v.Enum, v.Index)
	case '@':
		if v.Nested == nil {
			out.defect("an annotation value without annotation")
			return
		}
		out.annotation(v.Nested, depth+1)
	case '[':
		out.count(len(v.Array), "values")
		for i := range v.Array {
			out.elementValue(&v.Array[i], depth+1)
		}
	default:
		out.defect("no such element value tag: %d", v.Tag)
	}
}
