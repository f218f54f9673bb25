package classfile

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
