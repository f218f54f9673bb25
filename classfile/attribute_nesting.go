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
