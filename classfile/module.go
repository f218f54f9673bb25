package classfile

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
