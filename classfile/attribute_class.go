package classfile

// InnerClasses tells of every class named in the pool that is not a member of a
// package, and of the member classes of this one.
type InnerClasses []InnerClass

// InnerClass is one of them.
//
//	u2 inner, outer, name, access;
type InnerClass struct {
	Inner  uint16 // Class entry
	Outer  uint16 // Class entry; 0 for a local or anonymous class
	Name   uint16 // Utf8 entry, the simple name; 0 for an anonymous class
	Access Access // as in the source
}

// EnclosingMethod says in which method a local or anonymous class is declared.
//
//	u2 class, method;
type EnclosingMethod struct {
	Class  uint16 // Class entry
	Method uint16 // NameAndType entry; 0 where it is an initialiser
}

func (in *decoder) innerClasses() InnerClasses {
	table := make(InnerClasses, in.count(8, "classes"))
	for i := range table {
		table[i] = InnerClass{in.ref(classEntry), in.refOrNone(classEntry), in.refOrNone(utf8Entry), Access(in.u2())}
	}
	return table
}

// AppendTo implements [Contents].
func (table InnerClasses) AppendTo(dst []byte) ([]byte, error) {
	out := &encoder{dst: dst, structure: "InnerClasses"}
	out.count(len(table), "classes")
	for _, c := range table {
		out.u2(c.Inner, c.Outer, c.Name, uint16(c.Access))
	}
	return out.finish()
}

// AppendTo implements [Contents].
func (e EnclosingMethod) AppendTo(dst []byte) ([]byte, error) {
	return append16(dst, e.Class, e.Method), nil
}

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

// Record gives the components of a record class.
type Record []RecordComponent

// RecordComponent is one of them.
//
//	u2 name, descriptor; u2 n; attribute attributes[n];
type RecordComponent struct {
	Name       uint16 // Utf8 entry
	Descriptor uint16 // Utf8 entry
	Attributes []Attribute
}

func (in *decoder) record() Record {
	list := make(Record, in.count(6, "components"))
	for i := range list {
		list[i] = RecordComponent{in.ref(utf8Entry), in.ref(utf8Entry), in.attributes()}
	}
	return list
}

// AppendTo implements [Contents].
func (list Record) AppendTo(dst []byte) ([]byte, error) {
	out := &encoder{dst: dst, structure: "Record"}
	out.count(len(list), "components")
	for i := range list {
		out.u2(list[i].Name, list[i].Descriptor)
		out.attributes(list[i].Attributes)
	}
	return out.finish()
}

// Module is what a module declares.
//
//	u2 name, access, version;
//	u2 n; { u2 module, access, version; } requires[n];
//	u2 n; { u2 package, access; u2 n; u2 to[n]; } exports[n];
//	u2 n; { u2 package, access; u2 n; u2 to[n]; } opens[n];
//	u2 n; u2 uses[n];
//	u2 n; { u2 service; u2 n; u2 with[n]; } provides[n];
type Module struct {
	Name     uint16 // Module entry
	Access   Access
	Version  uint16 // Utf8 entry or 0
	Requires []ModuleRequire
	Exports  []ModuleExport
	Opens    []ModuleExport
	Uses     []uint16 // Class entries
	Provides []ModuleProvide
}

// ModuleRequire is a module that another depends on.
type ModuleRequire struct {
	Module  uint16 // Module entry
	Access  Access
	Version uint16 // Utf8 entry or 0: what it was compiled against
}

// ModuleExport is a package that a module exports or opens.
type ModuleExport struct {
	Package uint16 // Package entry
	Access  Access
	To      []uint16 // Module entries; none means to all
}

// ModuleProvide is a service and its implementations.
type ModuleProvide struct {
	Service uint16   // Class entry
	With    []uint16 // Class entries
}

func (in *decoder) module() *Module {
	m := &Module{Name: in.ref(moduleEntry), Access: Access(in.u2()), Version: in.refOrNone(utf8Entry)}
	m.Requires = make([]ModuleRequire, in.count(6, "required modules"))
	for i := range m.Requires {
		m.Requires[i] = ModuleRequire{in.ref(moduleEntry), Access(in.u2()), in.refOrNone(utf8Entry)}
	}
	m.Exports = in.moduleExports("exported packages")
	m.Opens = in.moduleExports("opened packages")
	m.Uses = in.refs(classEntry, "used services")
	m.Provides = make([]ModuleProvide, in.count(4, "provided services"))
	for i := range m.Provides {
		m.Provides[i] = ModuleProvide{in.ref(classEntry), in.refs(classEntry, "providers")}
	}
	return m
}

func (in *decoder) moduleExports(what string) []ModuleExport {
	list := make([]ModuleExport, in.count(6, what))
	for i := range list {
		list[i] = ModuleExport{in.ref(packageEntry), Access(in.u2()), in.refs(moduleEntry, "modules")}
	}
	return list
}

// AppendTo implements [Contents].
func (m *Module) AppendTo(dst []byte) ([]byte, error) {
	out := &encoder{dst: dst, structure: "Module"}
	out.u2(m.Name, uint16(m.Access), m.Version)
	out.count(len(m.Requires), "required modules")
	for _, r := range m.Requires {
		out.u2(r.Module, uint16(r.Access), r.Version)
	}
	out.moduleExports(m.Exports, "exported packages")
	out.moduleExports(m.Opens, "opened packages")
	out.indices(m.Uses, "used services")
	out.count(len(m.Provides), "provided services")
	for i := range m.Provides {
		out.u2(m.Provides[i].Service)
		out.indices(m.Provides[i].With, "providers")
	}
	return out.finish()
}

func (out *encoder) moduleExports(list []ModuleExport, what string) {
	out.count(len(list), what)
	for i := range list {
		out.u2(list[i].Package, uint16(list[i].Access))
		out.indices(list[i].To, "modules")
	}
}
