package classfile

// Contents is what an attribute says, as one of the concrete types of this package:
// which one follows from the attribute's [Kind]. Pool indices and code offsets in it
// are as the file has them; whether they lead anywhere is for the reader to see.
type Contents interface {
	// AppendTo writes the contents behind dst, without the attribute's name and
	// length. It fails only for contents that no class file can hold.
	AppendTo(dst []byte) ([]byte, error)
}

// Opaque is the contents of an attribute that the specification does not know.
type Opaque []byte

// AppendTo implements [Contents].
func (o Opaque) AppendTo(dst []byte) ([]byte, error) { return append(dst, o...), nil }

// Decode returns the contents of an attribute. AppendTo gives the same bytes back.
// Offsets in errors count from the start of the contents.
func (c *Class) Decode(a Attribute) (Contents, error) {
	kind := c.Kind(a.Name)
	if kind == KindUnknown {
		return Opaque(a.Data), nil
	}
	in := &decoder{cursor: cursor{data: a.Data}, structure: kind.String()}
	contents := in.contents(kind)
	if err := in.finish(); err != nil {
		return nil, err
	}
	return contents, nil
}

func (in *decoder) contents(kind Kind) Contents {
	switch kind {
	case KindConstantValue:
		return ConstantValue(in.u2())
	case KindCode:
		return in.code()
	case KindStackMapTable:
		return in.stackMapTable()
	case KindExceptions:
		return Exceptions(in.indices("entries"))
	case KindInnerClasses:
		return in.innerClasses()
	case KindEnclosingMethod:
		return EnclosingMethod{Class: in.u2(), Method: in.u2()}
	case KindSynthetic:
		return Synthetic{}
	case KindSignature:
		return Signature(in.u2())
	case KindSourceFile:
		return SourceFile(in.u2())
	case KindSourceDebugExtension:
		return SourceDebugExtension(in.bytes(in.left()))
	case KindLineNumberTable:
		return in.lineNumberTable()
	case KindLocalVariableTable:
		return LocalVariableTable(in.localVariables())
	case KindLocalVariableTypeTable:
		return LocalVariableTypeTable(in.localVariables())
	case KindDeprecated:
		return Deprecated{}
	case KindRuntimeVisibleAnnotations, KindRuntimeInvisibleAnnotations:
		return Annotations(in.annotations())
	case KindRuntimeVisibleParameterAnnotations, KindRuntimeInvisibleParameterAnnotations:
		return in.parameterAnnotations()
	case KindRuntimeVisibleTypeAnnotations, KindRuntimeInvisibleTypeAnnotations:
		return in.typeAnnotations()
	case KindAnnotationDefault:
		return AnnotationDefault(in.elementValue(0))
	case KindBootstrapMethods:
		return in.bootstrapMethods()
	case KindMethodParameters:
		return in.methodParameters()
	case KindModule:
		return in.module()
	case KindModulePackages:
		return ModulePackages(in.indices("entries"))
	case KindModuleMainClass:
		return ModuleMainClass(in.u2())
	case KindNestHost:
		return NestHost(in.u2())
	case KindNestMembers:
		return NestMembers(in.indices("entries"))
	case KindRecord:
		return in.record()
	case KindPermittedSubclasses:
		return PermittedSubclasses(in.indices("entries"))
	}
	return Opaque(in.bytes(in.left()))
}
