package classfile

// InnerClasses lists every class in the pool that is not a member of a package, and the
// member classes of this class.
type InnerClasses []InnerClass

// InnerClass is a row of an InnerClasses attribute.
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

func (l InnerClasses) transfer(x *codec) Contents {
	table(x, &l, 8, "classes", func(c *InnerClass) {
		x.ref(&c.Inner, classEntry)
		x.refOrNone(&c.Outer, classEntry)
		x.refOrNone(&c.Name, utf8Entry)
		x.access(&c.Access)
	})
	return l
}

func (e EnclosingMethod) transfer(x *codec) Contents {
	x.ref(&e.Class, classEntry)
	x.refOrNone(&e.Method, nameAndTypeEntry)
	return e
}

// BootstrapMethods are the methods that link invokedynamic instructions and dynamic
// constants. Pool entries refer to them by position.
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

// MethodParameter is the name and the flags of a parameter.
type MethodParameter struct {
	Name   uint16 // Utf8 entry; 0 where it has none
	Access Access // final, synthetic, mandated
}

func (l BootstrapMethods) transfer(x *codec) Contents {
	table(x, &l, 4, "bootstrap methods", func(m *BootstrapMethod) {
		x.ref(&m.Handle, methodHandleEntry)
		x.refs(&m.Arguments, loadable, "arguments")
	})
	return l
}

func (l MethodParameters) transfer(x *codec) Contents {
	table1(x, &l, 4, "parameters", func(p *MethodParameter) {
		x.refOrNone(&p.Name, utf8Entry)
		x.access(&p.Access)
	})
	return l
}

// Record gives the components of a record class.
type Record []RecordComponent

// RecordComponent is a component of a record class.
//
//	u2 name, descriptor; u2 n; attribute attributes[n];
type RecordComponent struct {
	Name       uint16 // Utf8 entry
	Descriptor uint16 // Utf8 entry
	Attributes []Attribute
}

func (l Record) transfer(x *codec) Contents {
	table(x, &l, 6, "components", func(c *RecordComponent) {
		x.ref(&c.Name, utf8Entry)
		x.ref(&c.Descriptor, utf8Entry)
		x.attributes(&c.Attributes)
	})
	return l
}

// Module is the declaration of a module.
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

func (m *Module) transfer(x *codec) Contents {
	if !x.writing {
		m = new(Module)
	}
	x.ref(&m.Name, moduleEntry)
	x.access(&m.Access)
	x.refOrNone(&m.Version, utf8Entry)
	table(x, &m.Requires, 6, "required modules", func(r *ModuleRequire) {
		x.ref(&r.Module, moduleEntry)
		x.access(&r.Access)
		x.refOrNone(&r.Version, utf8Entry)
	})
	export := func(e *ModuleExport) {
		x.ref(&e.Package, packageEntry)
		x.access(&e.Access)
		x.refs(&e.To, moduleEntry, "modules")
	}
	table(x, &m.Exports, 6, "exported packages", export)
	table(x, &m.Opens, 6, "opened packages", export)
	x.refs(&m.Uses, classEntry, "used services")
	table(x, &m.Provides, 4, "provided services", func(p *ModuleProvide) {
		x.ref(&p.Service, classEntry)
		x.refs(&p.With, classEntry, "providers")
	})
	return m
}
