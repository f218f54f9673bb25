package original

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/sonde-jvm/sonde/classfile"
)

// comparison is a class file beside what the JVM shows of the class.
type comparison struct {
	file, given *classfile.Class
	jdk         Version

	poolExtends  bool // what is shown has the file's constants, each in its place
	onlyOperands bool // all that differs is operands of instructions
}

// prove says in what the file differs from what runs, "" where in nothing. It compares
// everything that a JVM keeps of a class. What JVMs do not keep is the file's word
// alone: invisible annotations, annotations of types inside bodies, Deprecated,
// EnclosingMethod (kept, but not shown), attributes unknown to them, the order of
// methods. Tables of local variables, and SourceDebugExtension, are kept only if an
// agent that wanted them was there in time.
func (c *comparison) prove() string {
	if difference := c.comparePools(); difference != "" {
		return difference
	}
	c.poolExtends = true
	if difference := c.compareHeaders(); difference != "" {
		return difference
	}
	if difference := c.compareAttributes("the class", c.file.Attributes, c.given.Attributes, classKinds); difference != "" {
		return difference
	}
	if difference := c.compareMembers("field", c.file.Fields, c.given.Fields); difference != "" {
		return difference
	}
	return c.compareMembers("method", c.file.Methods, c.given.Methods)
}

func (c *comparison) compareHeaders() string {
	f, g := c.file, c.given
	switch {
	case f.Major != g.Major || f.Minor != g.Minor:
		return fmt.Sprintf("its version is %d.%d, not %d.%d", f.Major, f.Minor, g.Major, g.Minor)
	case f.Name() != g.Name():
		return "its name is " + f.Name()
	case f.SuperName() != g.SuperName():
		return "it extends " + f.SuperName()
	case access(f, f.Access, f.Attributes, classAccess) != access(g, g.Access, g.Attributes, classAccess):
		return fmt.Sprintf("its access flags are %#x, not %#x", uint16(f.Access), uint16(g.Access))
	case !slices.EqualFunc(f.Interfaces, g.Interfaces, c.sameClass):
		return "it implements other interfaces"
	}
	return ""
}

func (c *comparison) sameClass(a, b uint16) bool {
	x, err := c.file.Pool.ClassName(a)
	y, err2 := c.given.Pool.ClassName(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

// The access flags that a JVM keeps.
const (
	classAccess  classfile.Access = 0x7631 // public final super interface abstract synthetic annotation enum
	fieldAccess  classfile.Access = 0x50df
	methodAccess classfile.Access = 0x1dff
)

// access is what a JVM makes of access flags: an attribute Synthetic is a flag too.
func access(c *classfile.Class, a classfile.Access, attributes []classfile.Attribute, kept classfile.Access) classfile.Access {
	if c.Find(attributes, classfile.KindSynthetic) != nil {
		a |= classfile.AccSynthetic
	}
	return a & kept
}

func (c *comparison) compareMembers(what string, file, given []classfile.Member) string {
	if len(file) != len(given) {
		return fmt.Sprintf("it has %d %ss, not %d", len(file), what, len(given))
	}
	index := indexMembers(c.file, file)
	operands := ""
	for i := range given {
		key := keyOf(c.given, &given[i])
		k, ok := index[key]
		if !ok {
			return fmt.Sprintf("%s %s is not in it", what, key)
		}
		name := what + " " + key.String()
		kept, kinds := keptOf(what, key, &file[k])
		if access(c.file, file[k].Access, file[k].Attributes, kept) != access(c.given, given[i].Access, given[i].Attributes, kept) {
			return fmt.Sprintf("%s has access flags %#x, not %#x", name, uint16(file[k].Access), uint16(given[i].Access))
		}
		if difference := c.compareAttributes(name, file[k].Attributes, given[i].Attributes, kinds); difference != "" {
			return difference
		}
		difference, size := c.compareCode(name, file[k].Attributes, given[i].Attributes)
		switch {
		case difference == "":
		case !size || c.file.Pool.Len() != c.given.Pool.Len():
			return difference
		case operands == "":
			operands = difference
		}
	}
	c.onlyOperands = operands != ""
	return operands
}

// keptOf is what a JVM keeps of a member.
func keptOf(what string, key memberKey, m *classfile.Member) (classfile.Access, kindSet) {
	switch {
	case key.name == "<clinit>":
		return classfile.AccStatic, methodKinds // other flags of an initialiser mean nothing
	case what == "method":
		return methodAccess, methodKinds
	case m.Access&classfile.AccStatic != 0:
		return fieldAccess, staticFieldKinds
	}
	return fieldAccess, fieldKinds
}

// compareCode also reports whether bodies that differ do so in bytes of their code
// only, being equally long. Frames follow from the code, and JVMs drop those of classes
// that they do not verify.
func (c *comparison) compareCode(name string, file, given []classfile.Attribute) (difference string, onlyBytes bool) {
	f, g, err := c.codes(file, given)
	switch {
	case err != nil:
		return fmt.Sprintf("%s: %v", name, err), false
	case f == nil && g == nil:
		return "", false
	case f == nil || g == nil:
		return name + " has a body in one only", false
	case f.MaxStack != g.MaxStack || f.MaxLocals != g.MaxLocals || len(f.Bytes) != len(g.Bytes):
		return name + " has another body", false
	case !slices.EqualFunc(f.Handlers, g.Handlers, c.sameHandler):
		return name + " handles exceptions otherwise", false
	}
	if !slices.Equal(lines(c.file, f), lines(c.given, g)) {
		return name + " has other line numbers", false
	}
	if !bytes.Equal(f.Bytes, g.Bytes) && !c.sameInstructions(f.Bytes, g.Bytes) {
		return name + " has another body", true
	}
	return "", false
}

// sameHandler compares types by name: after a redefinition JDK 17 may show another
// entry for the same class.
func (c *comparison) sameHandler(f, g classfile.Handler) bool {
	if f.Type != g.Type && f.Type != 0 && g.Type != 0 && c.sameClass(f.Type, g.Type) {
		g.Type = f.Type
	}
	return f == g
}

func (c *comparison) codes(file, given []classfile.Attribute) (f, g *classfile.Code, err error) {
	if f, err = codeOf(c.file, file); err != nil {
		return nil, nil, err
	}
	g, err = codeOf(c.given, given)
	return f, g, err
}

func codeOf(c *classfile.Class, attributes []classfile.Attribute) (*classfile.Code, error) {
	attribute := c.Find(attributes, classfile.KindCode)
	if attribute == nil {
		return nil, nil
	}
	contents, err := c.Decode(*attribute)
	if err != nil {
		return nil, err
	}
	code, _ := contents.(*classfile.Code)
	return code, nil
}

// lines puts a body's tables of line numbers together and leaves out repeated rows, as
// a JVM does.
func lines(c *classfile.Class, code *classfile.Code) []classfile.LineNumber {
	var all []classfile.LineNumber
	for _, a := range code.Attributes {
		if c.Kind(a.Name) != classfile.KindLineNumberTable {
			continue
		}
		if contents, err := c.Decode(a); err == nil {
			table, _ := contents.(classfile.LineNumberTable)
			all = append(all, table...)
		}
	}
	return slices.Compact(all)
}
