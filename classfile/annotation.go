package classfile

import "math"

// Annotations is the contents of RuntimeVisibleAnnotations and
// RuntimeInvisibleAnnotations.
type Annotations []Annotation

// ParameterAnnotations is the contents of RuntimeVisibleParameterAnnotations and
// RuntimeInvisibleParameterAnnotations: the annotations of each parameter. There
// may be fewer entries than the descriptor has parameters.
type ParameterAnnotations [][]Annotation

// AnnotationDefault is the default value of an annotation's element.
type AnnotationDefault ElementValue

// Annotation is an annotation with the elements given explicitly.
//
//	u2 type; u2 n; { u2 name; element_value value; } elements[n];
type Annotation struct {
	Type     uint16 // Utf8 entry, a field descriptor
	Elements []Element
}

// Element is a name and value of an annotation.
type Element struct {
	Name  uint16 // Utf8 entry
	Value ElementValue
}

func (l Annotations) transfer(x *codec) Contents {
	x.annotations((*[]Annotation)(&l))
	return l
}

func (l ParameterAnnotations) transfer(x *codec) Contents {
	table1(x, &l, 2, "parameters", x.annotations)
	return l
}

func (d AnnotationDefault) transfer(x *codec) Contents {
	x.elementValue((*ElementValue)(&d), 0)
	return d
}

func (x *codec) annotations(list *[]Annotation) {
	table(x, list, 4, "annotations", func(a *Annotation) { x.annotation(a, 0) })
}

func (x *codec) annotation(a *Annotation, depth int) {
	x.ref(&a.Type, utf8Entry)
	table(x, &a.Elements, 5, "elements", func(e *Element) {
		x.ref(&e.Name, utf8Entry)
		x.elementValue(&e.Value, depth)
	})
}

// MaxAnnotationDepth limits how deep arrays and annotations may nest in the value of an
// annotation's element. Source code nests a handful; the specification sets no limit,
// but the stack of the decoder does.
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

func (x *codec) elementValue(v *ElementValue, depth int) {
	at := x.At
	x.u1(&v.Tag)
	if x.Short {
		return
	}
	if depth > MaxAnnotationDepth {
		x.defect(at, "values nest deeper than %d", MaxAnnotationDepth)
		return
	}
	switch v.Tag {
	case 'B', 'C', 'I', 'S', 'Z':
		x.ref(&v.Index, integerEntry)
	case 'D':
		x.ref(&v.Index, doubleEntry)
	case 'F':
		x.ref(&v.Index, floatEntry)
	case 'J':
		x.ref(&v.Index, longEntry)
	case 's', 'c':
		x.ref(&v.Index, utf8Entry)
	case 'e':
		x.ref(&v.Enum, utf8Entry)
		x.ref(&v.Index, utf8Entry)
	case '@':
		if !x.writing {
			v.Nested = new(Annotation)
		} else if v.Nested == nil {
			x.defect(at, "an annotation value without annotation")
			return
		}
		x.annotation(v.Nested, depth+1)
	case '[':
		table(x, &v.Array, 3, "values", func(v *ElementValue) { x.elementValue(v, depth+1) })
	default:
		x.defect(at, "no such element value tag: %d", v.Tag)
	}
}

// TypeAnnotations is the contents of RuntimeVisibleTypeAnnotations and
// RuntimeInvisibleTypeAnnotations.
type TypeAnnotations []TypeAnnotation

// TypeAnnotation is an annotation of a use of a type.
//
//	u1 target; target_info; u1 n; { u1 kind, index; } path[n]; annotation
type TypeAnnotation struct {
	Target Target
	Path   []PathStep
	Annotation
}

// Target is the use of a type that is annotated. Its Type determines which fields are
// set.
type Target struct {
	Type          TargetType
	TypeParameter uint8   // type parameters and their bounds
	Bound         uint8   // bounds
	Index         uint16  // supertype (65535 is extends), formal parameter, throws, handler
	Ranges        []Range // local variables and resources
	Offset        uint16  // instructions
	Argument      uint8   // type arguments of a cast, call or reference
}

// Range is where a local variable has a value.
type Range struct {
	Start, Length uint16 // offsets into the code
	Slot          uint16
}

// PathStep leads from a type to a part of it.
type PathStep struct {
	Kind     uint8 // 0 array's component, 1 nested type, 2 wildcard's bound, 3 type argument
	Argument uint8
}

const lastPathKind = 3

// TargetType is the kind of a type's use.
type TargetType uint8

// The target types of JVMS 4.7.20.1.
const (
	TargetClassTypeParameter       TargetType = 0x00
	TargetMethodTypeParameter      TargetType = 0x01
	TargetSupertype                TargetType = 0x10
	TargetClassTypeParameterBound  TargetType = 0x11
	TargetMethodTypeParameterBound TargetType = 0x12
	TargetField                    TargetType = 0x13
	TargetReturn                   TargetType = 0x14
	TargetReceiver                 TargetType = 0x15
	TargetFormalParameter          TargetType = 0x16
	TargetThrows                   TargetType = 0x17
	TargetLocalVariable            TargetType = 0x40
	TargetResource                 TargetType = 0x41
	TargetHandler                  TargetType = 0x42
	TargetInstanceof               TargetType = 0x43
	TargetNew                      TargetType = 0x44
	TargetConstructorReference     TargetType = 0x45
	TargetMethodReference          TargetType = 0x46
	TargetCast                     TargetType = 0x47
	TargetConstructorCallArgument  TargetType = 0x48
	TargetMethodCallArgument       TargetType = 0x49
	TargetConstructorRefArgument   TargetType = 0x4A
	TargetMethodRefArgument        TargetType = 0x4B
)

func (l TypeAnnotations) transfer(x *codec) Contents {
	table(x, &l, 6, "type annotations", func(t *TypeAnnotation) {
		x.target(&t.Target)
		table1(x, &t.Path, 2, "path steps", func(step *PathStep) {
			at := x.At
			x.u1(&step.Kind, &step.Argument)
			if x.pool != nil && step.Kind > lastPathKind {
				x.defect(at, "no such type path kind: %d", step.Kind)
			}
		})
		x.annotation(&t.Annotation, 0)
	})
	return l
}

func (x *codec) target(t *Target) {
	at := x.At
	x.u1((*uint8)(&t.Type))
	switch t.Type {
	case TargetClassTypeParameter, TargetMethodTypeParameter:
		x.u1(&t.TypeParameter)
	case TargetClassTypeParameterBound, TargetMethodTypeParameterBound:
		x.u1(&t.TypeParameter, &t.Bound)
	case TargetField, TargetReturn, TargetReceiver:
	case TargetFormalParameter:
		x.limit(int(t.Index), math.MaxUint8, "as index of a formal parameter")
		index := uint8(t.Index)
		x.u1(&index)
		t.Index = uint16(index)
	case TargetSupertype, TargetThrows, TargetHandler:
		x.u2(&t.Index)
	case TargetLocalVariable, TargetResource:
		table(x, &t.Ranges, 6, "ranges", func(r *Range) { x.u2(&r.Start, &r.Length, &r.Slot) })
	case TargetInstanceof, TargetNew, TargetConstructorReference, TargetMethodReference:
		x.u2(&t.Offset)
	case TargetCast, TargetConstructorCallArgument, TargetMethodCallArgument,
		TargetConstructorRefArgument, TargetMethodRefArgument:
		x.u2(&t.Offset)
		x.u1(&t.Argument)
	default:
		x.defect(at, "no such target type: 0x%02x", uint8(t.Type))
	}
}
