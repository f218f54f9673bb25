package condition

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
)

// member is a field or method and the class that declares it.
type member struct {
	class  *Class
	m      *classfile.Member
	name   string
	desc   string
	access classfile.Access
}

func (m *member) id() classfile.MethodRef {
	return classfile.MethodRef{Class: m.class.Name(), Name: m.name, Descriptor: m.desc}
}

func (m *member) full() string { return descriptor.ExternalName(m.class.Name()) + "." + m.name }

// look returns a loaded class, or nil, and records that the condition depends on it.
func (k *checker) look(name string) *Class {
	if c, ok := k.known[name]; ok {
		return c
	}
	var c *Class
	if name == k.scope.Class.Name() {
		c = k.scope.Class
	} else if k.scope.Lookup != nil {
		c = k.scope.Lookup(name)
	}
	k.known[name] = c
	return c
}

// superclass returns the superclass, and false if it is not known.
func (k *checker) superclass(c *Class) (*Class, bool) {
	name := c.File.SuperName()
	if name == "" {
		return nil, true
	}
	super := k.look(name)
	return super, super != nil
}

func (k *checker) interfaces(c *Class) (list []*Class, ok bool) {
	ok = true
	for _, i := range c.File.Interfaces {
		name, err := c.File.Pool.ClassName(i)
		if err != nil {
			return list, false
		}
		if found := k.look(string(name)); found != nil {
			list = append(list, found)
		} else {
			ok = false
		}
	}
	return list, ok
}

// declared finds a member that a class itself declares.
func declared(c *Class, list []classfile.Member, accept func(name, desc string, access classfile.Access) bool) *member {
	for i := range list {
		name, desc, err := c.File.MemberName(&list[i])
		if err == nil && accept(string(name), string(desc), list[i].Access) {
			return &member{c, &list[i], string(name), string(desc), list[i].Access}
		}
	}
	return nil
}

// upwards yields a class and its superclasses, and sets missing to the name of a superclass
// that is not known. It looks a class up only when the one below has been visited, so that a
// condition depends on no more classes than it needs.
func (k *checker) upwards(c *Class, missing *string) iter.Seq[*Class] {
	return func(yield func(*Class) bool) {
		for range mostSupers {
			if !yield(c) {
				return
			}
			super, ok := k.superclass(c)
			if !ok {
				*missing = c.File.SuperName()
			}
			if super == nil {
				return
			}
			c = super
		}
		*missing = c.Name()
	}
}

// mostSupers limits the search in superclasses: a malformed class may be its own superclass.
const mostSupers = 64

// mostInterfaces limits how many supertypes of a class are searched.
const mostInterfaces = 256

// field finds the field that a name means in a class: the nearest one upwards. missing
// names a superclass that is not known and may have the field.
func (k *checker) field(c *Class, name string) (found *member, missing string) {
	for at := range k.upwards(c, &missing) {
		if f := declared(at, at.File.Fields, func(n, _ string, _ classfile.Access) bool { return n == name }); f != nil {
			return f, ""
		}
	}
	return nil, missing
}

// method resolves a call without arguments in a class or interface: to the nearest
// declaration in superclasses, then in interfaces. An empty descriptor allows any result
// except void.
func (k *checker) method(c *Class, name, desc string) (found *member, missing string) {
	accept := func(n, d string, access classfile.Access) bool {
		if n != name || access.Has(classfile.AccStatic) || d == "()V" {
			return false
		}
		if desc != "" {
			return strings.HasPrefix(d, desc)
		}
		return strings.HasPrefix(d, "()") && !access.Has(classfile.AccBridge)
	}
	var above []*Class
	for at := range k.upwards(c, &missing) {
		if m := declared(at, at.File.Methods, accept); m != nil {
			return m, ""
		}
		above = append(above, at)
	}
	list, lacks := k.fromInterfaces(above, accept)
	if len(list) > 0 {
		return list[0], ""
	}
	return nil, cmp.Or(missing, lacks)
}

// selected returns the methods that a virtual call may run on an object of a class: the
// nearest declaration upwards that is not private, and further ones while that is visible in
// its package only and so may not override; else all declarations in interfaces.
func (k *checker) selected(c *Class, name, desc string) (list []*member, missing string) {
	accept := func(n, d string, access classfile.Access) bool {
		return n == name && d == desc && access&(classfile.AccStatic|classfile.AccPrivate) == 0
	}
	var above []*Class
	for at := range k.upwards(c, &missing) {
		if m := declared(at, at.File.Methods, accept); m != nil {
			list = append(list, m)
			if m.access&(classfile.AccPublic|classfile.AccProtected) != 0 {
				return list, ""
			}
		}
		above = append(above, at)
	}
	if missing != "" {
		return list, missing
	}
	more, missing := k.fromInterfaces(above, accept)
	return append(list, more...), missing
}

// fromInterfaces finds declarations in all interfaces of some classes.
func (k *checker) fromInterfaces(above []*Class, accept func(name, desc string, access classfile.Access) bool) (found []*member, missing string) {
	met := make(map[*Class]bool)
	for i := 0; i < len(above); i++ {
		if i == mostInterfaces {
			return found, "more than " + above[i].Name()
		}
		list, ok := k.interfaces(above[i])
		if !ok && missing == "" {
			missing = "an interface of " + above[i].Name()
		}
		for _, in := range list {
			if met[in] {
				continue
			}
			met[in] = true
			if m := declared(in, in.File.Methods, accept); m != nil && !m.access.Has(classfile.AccPrivate) {
				found = append(found, m)
			}
			above = append(above, in)
		}
	}
	return found, missing
}

// isEnum reports whether a class is an enum, and not the class of one constant.
func isEnum(c *Class) bool {
	return c != nil && c.File.Access.Has(classfile.AccEnum) && c.File.SuperName() == enumClass
}

// constants returns the names of the constants of an enum.
func constants(c *Class) []string {
	var names []string
	for i := range c.File.Fields {
		if f := &c.File.Fields[i]; f.Access.Has(classfile.AccEnum) {
			if name, _, err := c.File.MemberName(f); err == nil {
				names = append(names, string(name))
			}
		}
	}
	return names
}

// clinit returns the first of a class and its supertypes that has a static initialiser, or
// "". It returns false if a supertype is not known.
func (k *checker) clinit(c *Class) (string, bool) {
	all := []*Class{c}
	for i := 0; i < len(all) && i < mostSupers; i++ {
		at := all[i]
		if at.Name() == objectClass {
			continue
		}
		if declared(at, at.File.Methods, func(n, _ string, _ classfile.Access) bool { return n == "<clinit>" }) != nil {
			return at.Name(), true
		}
		super, ok := k.superclass(at)
		list, fine := k.interfaces(at)
		if !ok || !fine {
			return "", false
		}
		if super != nil {
			all = append(all, super)
		}
		all = append(all, list...)
	}
	return "", true
}

// nestmateMajor is the first class-file version in which classes of a nest can access each
// other's private members.
const nestmateMajor = 55

// seesClass returns why the class of the method may not name another class, or "".
func (k *checker) seesClass(c *Class) string {
	own := k.scope.Class
	switch {
	case c == own || c.Name() == own.Name():
		return ""
	case c.sharesPackage(own):
		return ""
	case !c.File.Access.Has(classfile.AccPublic):
		return "class " + descriptor.ExternalName(c.Name()) + " is not public"
	case k.scope.Exported != nil && !k.scope.Exported(c):
		return "the module of " + descriptor.ExternalName(c.Name()) + " does not export its package here"
	}
	return ""
}

// sees returns why the class of the method may not use a member through a type, or "".
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
		return "" // inherited, and used through the method's own class
	case m.access.Has(classfile.AccProtected):
		return m.full() + " is protected"
	}
	return m.full() + " is not visible outside its package"
}

// nestmates reports whether two classes can access each other's private members.
func (k *checker) nestmates(a, b *Class) bool {
	if a.File.Major < nestmateMajor || b.File.Major < nestmateMajor {
		return false
	}
	host := k.host(a)
	return host != nil && host == k.host(b)
}

// host returns the host of the nest of a class. As in the JVM, the host must list the class
// as a member; otherwise the class is its own host.
func (k *checker) host(c *Class) *Class {
	index := decoded[classfile.NestHost](c.File, c.File.Attributes, classfile.KindNestHost)
	if name, err := c.File.Pool.ClassName(uint16(index)); err == nil {
		host := k.look(string(name))
		if host != nil && host.sharesPackage(c) && listsMember(host, c.Name()) {
			return host
		}
	}
	return cmp.Or(k.look(c.Name()), c)
}

// listsMember reports whether a class names another as a member of its nest.
func listsMember(host *Class, member string) bool {
	list := decoded[classfile.NestMembers](host.File, host.File.Attributes, classfile.KindNestMembers)
	return slices.ContainsFunc(list, func(i uint16) bool {
		name, err := host.File.Pool.ClassName(i)
		return err == nil && string(name) == member
	})
}
