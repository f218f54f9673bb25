package classfile

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

func (in *decoder) annotations() []Annotation {
	list := make([]Annotation, in.count(4, "annotations"))
	for i := range list {
		list[i] = in.annotation(0)
	}
	return list
}

func (in *decoder) annotation(depth int) Annotation {
	a := Annotation{Type: in.ref(utf8Entry)}
	a.Elements = make([]Element, in.count(5, "elements"))
	for i := range a.Elements {
		a.Elements[i] = Element{in.ref(utf8Entry), in.elementValue(depth)}
	}
	return a
}

func (in *decoder) parameterAnnotations() ParameterAnnotations {
	list := make(ParameterAnnotations, in.count1(2, "parameters"))
	for i := range list {
		list[i] = in.annotations()
	}
	return list
}

// AppendTo implements [Contents].
func (list Annotations) AppendTo(dst []byte) ([]byte, error) {
	out := &encoder{dst: dst, structure: "annotations"}
	out.annotations(list)
	return out.finish()
}

// AppendTo implements [Contents].
func (list ParameterAnnotations) AppendTo(dst []byte) ([]byte, error) {
	out := &encoder{dst: dst, structure: "parameter annotations"}
	out.count1(len(list), "parameters")
	for _, annotations := range list {
		out.annotations(annotations)
	}
	return out.finish()
}

// AppendTo implements [Contents].
func (d AnnotationDefault) AppendTo(dst []byte) ([]byte, error) {
	out := &encoder{dst: dst, structure: "AnnotationDefault"}
	out.elementValue((*ElementValue)(&d), 0)
	return out.finish()
}

func (out *encoder) annotations(list []Annotation) {
	out.count(len(list), "annotations")
	for i := range list {
		out.annotation(&list[i], 0)
	}
}

func (out *encoder) annotation(a *Annotation, depth int) {
	out.u2(a.Type)
	out.count(len(a.Elements), "elements")
	for i := range a.Elements {
		out.u2(a.Elements[i].Name)
		out.elementValue(&a.Elements[i].Value, depth)
	}
}

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

// Target says which use of a type is annotated. Which fields count follows from its
// type.
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

func (in *decoder) typeAnnotations() TypeAnnotations {
	list := make(TypeAnnotations, in.count(6, "type annotations"))
	for i := range list {
		list[i].Target = in.target()
		list[i].Path = make([]PathStep, in.count1(2, "path steps"))
		for k := range list[i].Path {
			at := in.at
			list[i].Path[k] = PathStep{in.u1(), in.u1()}
			if in.pool != nil && list[i].Path[k].Kind > lastPathKind {
				in.defect(at, "no such type path kind: %d", list[i].Path[k].Kind)
			}
		}
		list[i].Annotation = in.annotation(0)
	}
	return list
}

func (in *decoder) target() Target {
	at := in.at
	t := Target{Type: TargetType(in.u1())}
	switch t.Type {
	case TargetClassTypeParameter, TargetMethodTypeParameter:
		t.TypeParameter = in.u1()
	case TargetClassTypeParameterBound, TargetMethodTypeParameterBound:
		t.TypeParameter, t.Bound = in.u1(), in.u1()
	case TargetField, TargetReturn, TargetReceiver:
	case TargetFormalParameter:
		t.Index = uint16(in.u1())
	case TargetSupertype, TargetThrows, TargetHandler:
		t.Index = in.u2()
	case TargetLocalVariable, TargetResource:
		t.Ranges = make([]Range, in.count(6, "ranges"))
		for i := range t.Ranges {
			t.Ranges[i] = Range{in.u2(), in.u2(), in.u2()}
		}
	case TargetInstanceof, TargetNew, TargetConstructorReference, TargetMethodReference:
		t.Offset = in.u2()
	case TargetCast, TargetConstructorCallArgument, TargetMethodCallArgument,
		TargetConstructorRefArgument, TargetMethodRefArgument:
		t.Offset, t.Argument = in.u2(), in.u1()
	default:
		in.defect(at, "no such target type: 0x%02x", uint8(t.Type))
	}
	return t
}

// AppendTo implements [Contents].
func (list TypeAnnotations) AppendTo(dst []byte) ([]byte, error) {
	out := &encoder{dst: dst, structure: "type annotations"}
	out.count(len(list), "type annotations")
	for i := range list {
		out.target(&list[i].Target)
		out.count1(len(list[i].Path), "path steps")
		for _, step := range list[i].Path {
			out.u1(step.Kind, step.Argument)
		}
		out.annotation(&list[i].Annotation, 0)
	}
	return out.finish()
}

func (out *encoder) target(t *Target) {
	out.u1(uint8(t.Type))
	switch t.Type {
	case TargetClassTypeParameter, TargetMethodTypeParameter:
		out.u1(t.TypeParameter)
	case TargetClassTypeParameterBound, TargetMethodTypeParameterBound:
		out.u1(t.TypeParameter, t.Bound)
	case TargetField, TargetReturn, TargetReceiver:
	case TargetFormalParameter:
		out.count1(int(t.Index), "as index of a formal parameter")
	case TargetSupertype, TargetThrows, TargetHandler:
		out.u2(t.Index)
	case TargetLocalVariable, TargetResource:
		out.count(len(t.Ranges), "ranges")
		for _, r := range t.Ranges {
			out.u2(r.Start, r.Length, r.Slot)
		}
	case TargetInstanceof, TargetNew, TargetConstructorReference, TargetMethodReference:
		out.u2(t.Offset)
	case TargetCast, TargetConstructorCallArgument, TargetMethodCallArgument,
		TargetConstructorRefArgument, TargetMethodRefArgument:
		out.u2(t.Offset)
		out.u1(t.Argument)
	default:
		out.defect("no such target type: 0x%02x", uint8(t.Type))
	}
}
