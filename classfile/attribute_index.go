package classfile

// The attributes that are one constant pool index each.
type (
	// ConstantValue is the initial value of a static field: an Integer, Float, Long,
	// Double or String entry.
	ConstantValue uint16
	// Signature is a Utf8 entry: the generic signature of a class, member or record
	// component.
	Signature uint16
	// SourceFile is a Utf8 entry: the name of the source file.
	SourceFile uint16
	// NestHost is a Class entry: the class whose nest this one is in.
	NestHost uint16
	// ModuleMainClass is a Class entry: the class to start a module with.
	ModuleMainClass uint16
)

// The attributes that are a list of constant pool indices each.
type (
	// Exceptions are Class entries: what a method declares to throw.
	Exceptions []uint16
	// NestMembers are Class entries: the classes of this nest, its host aside.
	NestMembers []uint16
	// PermittedSubclasses are Class entries: who may extend a sealed class.
	PermittedSubclasses []uint16
	// ModulePackages are Package entries: all packages of a module.
	ModulePackages []uint16
)

// The attributes that say all by being there, and the one that is plain bytes.
type (
	// Synthetic marks what no source holds.
	Synthetic struct{}
	// Deprecated marks what should no longer be used.
	Deprecated struct{}
	// SourceDebugExtension is debug information in a language's own form, in
	// modified UTF-8.
	SourceDebugExtension []byte
)

// AppendTo implements [Contents].
func (v ConstantValue) AppendTo(dst []byte) ([]byte, error) { return append16(dst, uint16(v)), nil }

// AppendTo implements [Contents].
func (v Signature) AppendTo(dst []byte) ([]byte, error) { return append16(dst, uint16(v)), nil }

// AppendTo implements [Contents].
func (v SourceFile) AppendTo(dst []byte) ([]byte, error) { return append16(dst, uint16(v)), nil }

// AppendTo implements [Contents].
func (v NestHost) AppendTo(dst []byte) ([]byte, error) { return append16(dst, uint16(v)), nil }

// AppendTo implements [Contents].
func (v ModuleMainClass) AppendTo(dst []byte) ([]byte, error) { return append16(dst, uint16(v)), nil }

// AppendTo implements [Contents].
func (l Exceptions) AppendTo(dst []byte) ([]byte, error) { return appendIndices(dst, "Exceptions", l) }

// AppendTo implements [Contents].
func (l NestMembers) AppendTo(dst []byte) ([]byte, error) {
	return appendIndices(dst, "NestMembers", l)
}

// AppendTo implements [Contents].
func (l PermittedSubclasses) AppendTo(dst []byte) ([]byte, error) {
	return appendIndices(dst, "PermittedSubclasses", l)
}

// AppendTo implements [Contents].
func (l ModulePackages) AppendTo(dst []byte) ([]byte, error) {
	return appendIndices(dst, "ModulePackages", l)
}

// AppendTo implements [Contents].
func (Synthetic) AppendTo(dst []byte) ([]byte, error) { return dst, nil }

// AppendTo implements [Contents].
func (Deprecated) AppendTo(dst []byte) ([]byte, error) { return dst, nil }

// AppendTo implements [Contents].
func (s SourceDebugExtension) AppendTo(dst []byte) ([]byte, error) { return append(dst, s...), nil }
