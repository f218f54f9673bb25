package control

// ClassFlags say what kind of class a Class is.
type ClassFlags uint8

// The flags of a class.
const (
	Modifiable ClassFlags = 1 << iota // the JVM lets it be retransformed
	Interface
)

// A Class is one that is loaded in the JVM: handle u32, loader u32, flags u8,
// name string.
type Class struct {
	Handle uint32 // never 0; keeps its meaning for the length of the session
	Loader uint32 // 0 is the boot loader
	Flags  ClassFlags
	Name   string // with dots
}

const classSize = 4 + 4 + 1 + textSize

// classes: last u8, n u32 × class.
type classes struct {
	last bool
	list []Class
}

func (s classes) append(dst []byte) []byte {
	return appendList(appendFlag(dst, s.last), s.list, func(dst []byte, class Class) []byte {
		dst = append(appendU32(appendU32(dst, class.Handle), class.Loader), byte(class.Flags))
		return appendText(dst, class.Name)
	})
}

func (s *classes) read(c *cursor) {
	s.last = c.flag()
	s.list = readList(c, classSize, func(c *cursor) Class {
		class := Class{c.u32(), c.u32(), ClassFlags(c.u8()), c.text()}
		if class.Handle == 0 {
			c.fail()
		}
		return class
	})
}

// handles: n u32 × handle u32.
type handles []uint32

func (h handles) append(dst []byte) []byte { return appendList(dst, h, appendU32) }
func (h *handles) read(c *cursor)          { *h = readList(c, 4, (*cursor).u32) }

// An original: handle u32, found u8, bytes (the class file, or text why not).
type original struct {
	handle uint32
	found  bool
	bytes  []byte
}

func (o original) append(dst []byte) []byte {
	return appendText(appendFlag(appendU32(dst, o.handle), o.found), o.bytes)
}

func (o *original) read(c *cursor) { o.handle, o.found, o.bytes = c.u32(), c.flag(), c.bytes() }

// seen: n u32 × (handle u32, reason string).
type seen []sight

type sight struct {
	handle uint32
	reason string // empty where the class sees the hooks
}

func (s seen) append(dst []byte) []byte {
	return appendList(dst, s, func(dst []byte, one sight) []byte { return appendText(appendU32(dst, one.handle), one.reason) })
}

func (s *seen) read(c *cursor) {
	*s = readList(c, 4+textSize, func(c *cursor) sight { return sight{c.u32(), c.text()} })
}
