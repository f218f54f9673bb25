package original

import "github.com/sonde-jvm/sonde/classfile"

// memberKey tells fields, or methods, of one class apart.
type memberKey struct{ name, descriptor string }

func (k memberKey) String() string { return k.name + k.descriptor }

func keyOf(c *classfile.Class, m *classfile.Member) memberKey {
	name, descriptor, err := c.MemberName(m)
	if err != nil {
		return memberKey{} // no member of a class that was loaded
	}
	return memberKey{string(name), string(descriptor)}
}

// indexMembers finds members by name and descriptor: a JVM orders methods as it likes.
func indexMembers(c *classfile.Class, members []classfile.Member) map[memberKey]int {
	index := make(map[memberKey]int, len(members))
	for i := range members {
		index[keyOf(c, &members[i])] = i
	}
	return index
}
