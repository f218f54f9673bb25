package classfile

// BootstrapMethods are what invokedynamic and dynamic constants are linked by; pool
// entries name them by position.
type BootstrapMethods []BootstrapMethod

// BootstrapMethod is a method handle and its static arguments.
//
//	u2 handle; u2 n; u2 arguments[n];
type BootstrapMethod struct {
	Handle    uint16   // MethodHandle entry
	Arguments []uint16 // entries that ldc could load
}

// MethodParameters gives the names of a method's parameters.
type MethodParameters []MethodParameter

// MethodParameter is one of them.
type MethodParameter struct {
	Name   uint16 // Utf8 entry; 0 where it has none
	Access Access // final, synthetic, mandated
}

func (in *decoder) bootstrapMethods() BootstrapMethods {
	table := make(BootstrapMethods, in.count(4, "bootstrap methods"))
	for i := range table {
		table[i] = BootstrapMethod{in.ref(methodHandleEntry), in.refs(loadable, "arguments")}
	}
	return table
}

func (in *decoder) methodParameters() MethodParameters {
	table := make(MethodParameters, in.count1(4, "parameters"))
	for i := range table {
		table[i] = MethodParameter{in.refOrNone(utf8Entry), Access(in.u2())}
	}
	return table
}

// AppendTo implements [Contents].
func (table BootstrapMethods) AppendTo(dst []byte) ([]byte, error) {
	out := &encoder{dst: dst, structure: "BootstrapMethods"}
	out.count(len(table), "bootstrap methods")
	for i := range table {
		out.u2(table[i].Handle)
		out.indices(table[i].Arguments, "arguments")
	}
	return out.finish()
}

// AppendTo implements [Contents].
func (table MethodParameters) AppendTo(dst []byte) ([]byte, error) {
	out := &encoder{dst: dst, structure: "MethodParameters"}
	out.count1(len(table), "parameters")
	for _, p := range table {
		out.u2(p.Name, uint16(p.Access))
	}
	return out.finish()
}
