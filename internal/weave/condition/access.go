package condition

import (
	"slices"

	"github.com/sonde-jvm/sonde/classfile"
)

// nestmateMajor is the class-file version from which on the JVM lets classes of one
// nest read each other's private members.
const nestmateMajor = 55

// seesClass says why the method's class may not name another, "" where it may.
func (k *checker) seesClass(c *Class) string {
	own := k.scope.Class
	switch {
	case c == own || c.Name() == own.Name():
		return ""
	case c.sharesPackage(own):
		return ""
	case !c.File.Access.Has(classfile.AccPublic):
		return "class " + dotted(c.Name()) + " is not public"
	case k.scope.Exported != nil && !k.scope.Exported(c):
		return "the module of " + dotted(c.Name()) + " does not export its package here"
	}
	return ""
}

// sees says why the method's class may not use a member through a type, "" where it
// may.
func (k *checker) sees(m *member, through *Class) string {
	if why := k.seesClass(through); why != "" {
		return why
	}
	own := k.scope.Class
	switch {
	case m.access.Has(classfile.AccPublic):
		return ""
	case m.access.Has(classfile.AccPrivate):
		if m.class.Name() == own.Name() || k.nestmates(m.class, own) {
			return ""
		}
		return m.full() + " is private"
	case m.class.sharesPackage(own):
		return ""
	case m.access.Has(classfile.AccProtected) && through.Name() == own.Name():
		return "" // inherited, and asked of the method's own class
	case m.access.Has(classfile.AccProtected):
		return m.full() + " is protected"
	}
	return m.full() + " is not visible outside its package"
}

// nestmates reports whether the JVM treats two classes as one for private members.
func (k *checker) nestmates(a, b *Class) bool {
	if a.File.Major < nestmateMajor || b.File.Major < nestmateMajor {
		return false
	}
	host := k.host(a)
	return host != nil && host == k.host(b)
}

// host is the class whose nest a class is in, as the JVM finds it: the host must list
// it too, else the class is alone.
func (k *checker) host(c *Class) *Class {
	a := c.File.Find(c.File.Attributes, classfile.KindNestHost)
	if a == nil {
		return k.same(c)
	}
	contents, err := c.File.Decode(*a)
	if err != nil {
		return k.same(c)
	}
	index, _ := contents.(classfile.NestHost)
	name, err := c.File.Pool.ClassName(uint16(index))
	if err != nil {
		return k.same(c)
	}
	host := k.look(string(name))
	if host == nil || !host.sharesPackage(c) || !slices.Contains(nestMembers(host), c.Name()) {
		return k.same(c)
	}
	return host
}

// same is the one object that stands for a class.
func (k *checker) same(c *Class) *Class {
	if found := k.look(c.Name()); found != nil {
		return found
	}
	return c
}

func nestMembers(c *Class) (names []string) {
	a := c.File.Find(c.File.Attributes, classfile.KindNestMembers)
	if a == nil {
		return nil
	}
	contents, err := c.File.Decode(*a)
	if err != nil {
		return nil
	}
	list, _ := contents.(classfile.NestMembers)
	for _, i := range list {
		if name, err := c.File.Pool.ClassName(i); err == nil {
			names = append(names, string(name))
		}
	}
	return names
}
