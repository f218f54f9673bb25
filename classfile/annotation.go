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
