package classfile

// Contents is what an attribute says, as one of the concrete types of this package:
// which one follows from the attribute's [Kind]. Pool indices and code offsets in it
// are as the file has them; whether they lead anywhere is for [Class.Check] to say.
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
func (c *Class) Decode(a Attribute) (Contents, error) { return c.decode(a, nil) }

// decode is Decode that, given a pool, demands that indices lead to what they should.
func (c *Class) decode(a Attribute, pool *Pool) (Contents, error) {
	kind := c.Kind(a.Name)
	if kind == KindUnknown {
		return Opaque(a.Data), nil
	}
	in := &decoder{cursor: cursor{data: a.Data}, structure: kind.String(), pool: pool}
	contents := in.contents(kind)
	if err := in.finish(); err != nil {
		return nil, err
	}
	return contents, nil
}

func (in *decoder) contents(kind Kind) Contents {
	switch kind {
	case KindConstantValue:
		return ConstantValue(in.ref(constantValues))
	case KindCode:
		return in.code()
	case KindStackMapTable:
		return in.stackMapTable()
	case KindExceptions:
		return Exceptions(in.refs(classEntry, "entries"))
	case KindInnerClasses:
		return in.innerClasses()
	case KindEnclosingMethod:
		return EnclosingMethod{Class: in.ref(classEntry), Method: in.refOrNone(nameAndTypeEntry)}
	case KindSynthetic:
		return Synthetic{}
	case KindSignature:
		return Signature(in.ref(utf8Entry))
	case KindSourceFile:
		return SourceFile(in.ref(utf8Entry))
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
		return ModulePackages(in.refs(packageEntry, "entries"))
	case KindModuleMainClass:
		return ModuleMainClass(in.ref(classEntry))
	case KindNestHost:
		return NestHost(in.ref(classEntry))
	case KindNestMembers:
		return NestMembers(in.refs(classEntry, "entries"))
	case KindRecord:
		return in.record()
	case KindPermittedSubclasses:
		return PermittedSubclasses(in.refs(classEntry, "entries"))
	}
	return Opaque(in.bytes(in.left()))
}
