package weave

import (
	"fmt"

	"github.com/sonde-jvm/sonde/classfile"
)

// constant is an entry of the template's pool as a thing of its own, to be added to
// any other pool.
type constant struct {
	tag              classfile.Tag
	text, name, desc string // a text; or a member's class, name and descriptor
	raw              []byte // a number
	kind             uint16 // of a method handle
	ref              int    // the member it is of
	bootstrap        []int  // of a dynamic one: the handle, then the arguments
}

// The class-file versions from which on constants of a kind may be used.
const (
	majorJava5  = 49 // ldc of a class
	majorJava7  = 51 // invokedynamic, method handles
	majorJava8  = 52 // static calls of interface methods
	majorJava11 = 55 // dynamic constants
)

// refInvokeInterface is the kind of a method handle that calls by an interface.
const refInvokeInterface = 9

// constant returns the number of a pool entry of the template's class.
func (c *compiler) constant(index uint16) (int, error) {
	if no, ok := c.constantNo[index]; ok {
		if no < 0 {
			return 0, c.refuse("uses a constant that leads back to itself")
		}
		return no, nil
	}
	c.constantNo[index] = -1 // being read
	k, err := c.readConstant(index)
	if err != nil {
		return 0, err
	}
	no := len(c.constants)
	c.constants = append(c.constants, k)
	c.constantNo[index] = no
	return no, nil
}

func (c *compiler) readConstant(index uint16) (constant, error) {
	pool := &c.class.Pool
	k := constant{tag: pool.Tag(index)}
	var text []byte
	var err error
	switch k.tag {
	case classfile.TagInteger, classfile.TagFloat, classfile.TagLong, classfile.TagDouble:
		k.raw, err = pool.Raw(index)
	case classfile.TagClass:
		text, err = pool.ClassName(index)
	case classfile.TagString:
		text, err = pool.StringValue(index)
	case classfile.TagMethodType:
		c.atLeast(majorJava7)
		text, err = pool.MethodType(index)
	case classfile.TagFieldref, classfile.TagMethodref, classfile.TagInterfaceMethodref:
		var class, name, desc []byte
		class, name, desc, err = pool.Member(index)
		text, k.name, k.desc = class, string(name), string(desc)
		if err == nil {
			err = c.reachable(string(class), k.name, k.desc)
		}
	case classfile.TagMethodHandle:
		c.atLeast(majorJava7)
		kind, ref, _ := pool.Pair(index)
		k.kind = kind
		if k.ref, err = c.constant(ref); err == nil && c.constants[k.ref].tag == classfile.TagInterfaceMethodref && kind != refInvokeInterface {
			c.atLeast(majorJava8)
		}
	case classfile.TagInvokeDynamic, classfile.TagDynamic:
		c.atLeast(majorJava7)
		if k.tag == classfile.TagDynamic {
			c.atLeast(majorJava11)
		}
		boot, nt, _ := pool.Pair(index)
		var name, desc []byte
		if name, desc, err = pool.NameAndType(nt); err == nil {
			k.name, k.desc = string(name), string(desc)
			k.bootstrap, err = c.bootstrap(boot)
		}
	default:
		err = c.refuse(fmt.Sprintf("uses a constant that cannot be moved: %s", k.tag))
	}
	k.text = string(text)
	return k, err
}

func (c *compiler) bootstrap(index uint16) ([]int, error) {
	a := c.class.Find(c.class.Attributes, classfile.KindBootstrapMethods)
	if a == nil {
		return nil, c.refuse("uses invokedynamic without bootstrap methods")
	}
	contents, err := c.class.Decode(*a)
	if err != nil {
		return nil, err
	}
	entries, _ := contents.(classfile.BootstrapMethods)
	if int(index) >= len(entries) {
		return nil, c.refuse("uses a bootstrap method that is not there")
	}
	var numbers []int
	for _, ref := range append([]uint16{entries[index].Handle}, entries[index].Arguments...) {
		no, err := c.constant(ref)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, no)
	}
	return numbers, nil
}

// reachable refuses what a class other than the template's own could not use.
func (c *compiler) reachable(class, name, desc string) error {
	if class == intrinsicsClass {
		return c.refuse("names Template." + name + " without calling it")
	}
	if class != c.class.Name() {
		return nil
	}
	if !c.class.Access.Has(classfile.AccPublic) {
		return c.refuse("uses " + name + " of its own class, which is not public")
	}
	for _, members := range [2][]classfile.Member{c.class.Fields, c.class.Methods} {
		for i := range members {
			m := &members[i]
			n, d, err := c.class.MemberName(m)
			if err == nil && string(n) == name && string(d) == desc && !m.Access.Has(classfile.AccPublic) {
				return c.refuse("uses " + name + " of its own class, which is not public (a lambda's body never is)")
			}
		}
	}
	return nil
}

func (c *compiler) atLeast(major uint16) { c.minMajor = max(c.minMajor, major) }
