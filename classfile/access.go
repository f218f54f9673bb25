package classfile

// Access is a set of access and property flags. One bit may mean different
// things for a class, a field and a method.
type Access uint16

// The flags of JVMS 4.1, 4.5, 4.6 and 4.7.25.
const (
	AccPublic       Access = 0x0001
	AccPrivate      Access = 0x0002
	AccProtected    Access = 0x0004
	AccStatic       Access = 0x0008
	AccFinal        Access = 0x0010
	AccSuper        Access = 0x0020 // class
	AccSynchronized Access = 0x0020 // method
	AccOpen         Access = 0x0020 // module
	AccTransitive   Access = 0x0020 // module requires
	AccVolatile     Access = 0x0040 // field
	AccBridge       Access = 0x0040 // method
	AccStaticPhase  Access = 0x0040 // module requires
	AccTransient    Access = 0x0080 // field
	AccVarargs      Access = 0x0080 // method
	AccNative       Access = 0x0100
	AccInterface    Access = 0x0200
	AccAbstract     Access = 0x0400
	AccStrict       Access = 0x0800
	AccSynthetic    Access = 0x1000
	AccAnnotation   Access = 0x2000
	AccEnum         Access = 0x4000
	AccModule       Access = 0x8000 // class
	AccMandated     Access = 0x8000 // parameter, module
)

// Has reports whether all of flags are set.
func (a Access) Has(flags Access) bool { return a&flags == flags }
