package original

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/jvm/jdk"
)

// A comparison compares a class file with the bytes from the JVM.
type comparison struct {
	file, given *classfile.Class
	jdk         jdk.Version

	poolExtends  bool // the class from the JVM has the file's constants at the same indices
	onlyOperands bool // only operands of instructions differ
}

// prove returns the first difference between the file and the class that runs, or "". It
// compares everything that a JVM keeps of a class. For anything else the file must be
// trusted: invisible annotations, annotations of types inside bodies, Deprecated,
// EnclosingMethod (kept, but not passed on), attributes that the JVM does not know, and the order
// of methods. Tables of local variables and SourceDebugExtension are kept only if an agent
// asked for them before the class was loaded.
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
		return "it implements different interfaces"
	}
	return ""
}

func (c *comparison) sameClass(a, b uint16) bool {
	return sameText(c.file.Pool.ClassName, c.given.Pool.ClassName, a, b)
}

// The access flags that a JVM keeps.
const (
	classAccess  classfile.Access = 0x7631 // public final super interface abstract synthetic annotation enum
	fieldAccess  classfile.Access = 0x50df
	methodAccess classfile.Access = 0x1dff
)

// access returns the flags that a JVM keeps. It treats an attribute Synthetic as a flag.
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
			return fmt.Sprintf("the file has no %s %s", what, key.Member())
		}
		name := what + " " + key.Member()
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

// keptOf returns the access flags and attributes of a member that a JVM keeps.
func keptOf(what string, key classfile.MethodRef, m *classfile.Member) (classfile.Access, kindSet) {
	switch {
	case key.Name == "<clinit>":
		return classfile.AccStatic, methodKinds // the JVM ignores other flags of an initialiser
	case what == "method":
		return methodAccess, methodKinds
	case m.Access&classfile.AccStatic != 0:
		return fieldAccess, staticFieldKinds
	}
	return fieldAccess, fieldKinds
}

// compareCode also reports whether the bodies have the same length and differ only in
// bytes of their code. It ignores frames: they follow from the code, and JVMs drop the frames
// of classes that they do not verify.
func (c *comparison) compareCode(name string, file, given []classfile.Attribute) (difference string, onlyBytes bool) {
	f, err := c.file.Code(file)
	g, err2 := c.given.Code(given)
	switch {
	case err != nil || err2 != nil:
		return fmt.Sprintf("%s: %v", name, cmp.Or(err, err2)), false
	case f == nil && g == nil:
		return "", false
	case f == nil || g == nil:
		return name + " has a body only in the file or only in the JVM", false
	case f.MaxStack != g.MaxStack || f.MaxLocals != g.MaxLocals || len(f.Bytes) != len(g.Bytes):
		return name + " has a different body", false
	case !slices.EqualFunc(f.Handlers, g.Handlers, c.sameHandler):
		return name + " has different exception handlers", false
	case !slices.Equal(lines(c.file, f), lines(c.given, g)):
		return name + " has different line numbers", false
	case !bytes.Equal(f.Bytes, g.Bytes) && !c.sameInstructions(f.Bytes, g.Bytes):
		return name + " has a different body", true
	}
	return "", false
}

// sameHandler compares exception types by name: after a redefinition JDK 17 may show
// another pool entry for the same class.
func (c *comparison) sameHandler(f, g classfile.Handler) bool {
	if f.Type != g.Type && f.Type != 0 && g.Type != 0 && c.sameClass(f.Type, g.Type) {
		g.Type = f.Type
	}
	return f == g
}

// lines joins the line-number tables of a body and removes repeated rows, as a JVM does.
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

// keyOf returns the name and descriptor of a field or method of a class. They are empty if
// they cannot be read, which cannot happen in a class that was loaded.
func keyOf(c *classfile.Class, m *classfile.Member) classfile.MethodRef {
	name, descriptor, _ := c.MemberName(m)
	return classfile.MethodRef{Name: string(name), Descriptor: string(descriptor)}
}

// indexMembers returns members by name and descriptor: a JVM may reorder methods.
func indexMembers(c *classfile.Class, members []classfile.Member) map[classfile.MethodRef]int {
	index := make(map[classfile.MethodRef]int, len(members))
	for i := range members {
		index[keyOf(c, &members[i])] = i
	}
	return index
}

// kindSet lists attributes that a JVM keeps and shows, with the first class-file version
// in which it knows them.
type kindSet []struct {
	kind  classfile.Kind
	major uint16
}

var (
	classKinds = kindSet{
		{classfile.KindSignature, 49},
		{classfile.KindSourceFile, 0},
		{classfile.KindRuntimeVisibleAnnotations, 49},
		{classfile.KindRuntimeVisibleTypeAnnotations, 52},
		{classfile.KindNestHost, 55},
		{classfile.KindNestMembers, 55},
		{classfile.KindPermittedSubclasses, 61},
		{classfile.KindRecord, 60},
		{classfile.KindBootstrapMethods, 51},
		{classfile.KindInnerClasses, 0},
	}
	fieldKinds = kindSet{
		{classfile.KindSignature, 49},
		{classfile.KindRuntimeVisibleAnnotations, 49},
		{classfile.KindRuntimeVisibleTypeAnnotations, 52},
	}
	methodKinds = kindSet{
		{classfile.KindExceptions, 0},
		{classfile.KindSignature, 49},
		{classfile.KindRuntimeVisibleAnnotations, 49},
		{classfile.KindRuntimeVisibleParameterAnnotations, 49},
		{classfile.KindRuntimeVisibleTypeAnnotations, 52},
		{classfile.KindAnnotationDefault, 49},
		{classfile.KindMethodParameters, 52},
	}
	// A JVM ignores ConstantValue of instance fields.
	staticFieldKinds = append(kindSet{{classfile.KindConstantValue, 0}}, fieldKinds...)
)

// compareAttributes compares the contents of attributes that a JVM keeps. Constants have the
// same indices on both sides, so equal bytes mean the same.
func (c *comparison) compareAttributes(owner string, file, given []classfile.Attribute, kinds kindSet) string {
	for _, k := range kinds {
		f, g := c.file.Find(file, k.kind), c.given.Find(given, k.kind)
		switch {
		case f == nil && g == nil:
		case c.file.Major < k.major: // a JVM may ignore it
		case k.kind == classfile.KindMethodParameters && g == nil && jdk.ParameterNames.In(c.jdk):
		case f == nil:
			if k.kind == classfile.KindBootstrapMethods {
				continue // left by an earlier redefinition
			}
			return fmt.Sprintf("%s has no %s in the file", owner, k.kind)
		case g == nil:
			if emptyTable(k.kind, f.Data) {
				continue
			}
			return fmt.Sprintf("%s has %s only in the file", owner, k.kind)
		case !c.sameContents(k.kind, f.Data, g.Data):
			return fmt.Sprintf("%s has a different %s", owner, k.kind)
		}
	}
	return ""
}

// emptyTable reports whether an attribute is a table without entries, which means the same
// as no attribute.
func emptyTable(kind classfile.Kind, data []byte) bool {
	switch kind {
	case classfile.KindExceptions, classfile.KindInnerClasses, classfile.KindBootstrapMethods, classfile.KindNestMembers:
		return bytes.Equal(data, []byte{0, 0})
	}
	return false
}

func (c *comparison) sameContents(kind classfile.Kind, f, g []byte) bool {
	switch {
	case bytes.Equal(f, g):
		return true
	case kind == classfile.KindBootstrapMethods:
		// A count, then entries: redefinitions may have appended more.
		return len(f) > 2 && len(g) > len(f) && bytes.Equal(f[2:], g[2:len(f)])
	case kind == classfile.KindSourceFile || kind == classfile.KindSignature:
		return c.sameReference(f, g)
	case kind == classfile.KindRecord:
		return c.sameComponents()
	}
	return false
}

// sameReference compares two Utf8 references by their text.
func (c *comparison) sameReference(f, g []byte) bool {
	return len(f) == 2 && len(g) == 2 &&
		sameText(c.file.Pool.Utf8, c.given.Pool.Utf8, binary.BigEndian.Uint16(f), binary.BigEndian.Uint16(g))
}

// sameComponents compares records whose components have attributes that the JVM does not
// show. An attribute that is unreadable because of a bug of the JDK is no difference: the
// fields and methods of a record determine its components.
func (c *comparison) sameComponents() bool {
	file, ok := components(c.file)
	given, readable := components(c.given)
	if !ok || !readable {
		return ok && jdk.ComponentCount.In(c.jdk)
	}
	if len(file) != len(given) {
		return false
	}
	kinds := kindSet{
		{classfile.KindSignature, 0},
		{classfile.KindRuntimeVisibleAnnotations, 0},
		{classfile.KindRuntimeVisibleTypeAnnotations, 0},
	}
	for i := range file {
		if file[i].Name != given[i].Name || file[i].Descriptor != given[i].Descriptor ||
			c.compareAttributes("a component", file[i].Attributes, given[i].Attributes, kinds) != "" {
			return false
		}
	}
	return true
}

// sameInstructions compares code of equal length instruction by instruction, and constants
// by meaning: a redefinition on JDK 17, even one without a change, may add a constant a
// second time and make instructions refer to it.
func (c *comparison) sameInstructions(f, g []byte) bool {
	for at := 0; at < len(f); {
		size := opcode.LengthAt(f, at)
		if size == 0 || at+size > len(f) || f[at] != g[at] {
			return false
		}
		x, y := f[at+1:at+size], g[at+1:at+size]
		at += size
		if bytes.Equal(x, y) {
			continue
		}
		var i, k uint16
		switch opcode.Op(f[at-size]).Info().Shape {
		case opcode.CP1:
			i, k = uint16(x[0]), uint16(y[0])
		case opcode.CP2, opcode.Interface, opcode.Dynamic, opcode.MultiArray:
			if !bytes.Equal(x[2:], y[2:]) {
				return false
			}
			i, k = binary.BigEndian.Uint16(x), binary.BigEndian.Uint16(y)
		default:
			return false
		}
		if !sameConstant(&c.file.Pool, &c.given.Pool, i, k) {
			return false
		}
	}
	return true
}

// comparePools requires that the constants from the JVM begin with the constants of the file. More may
// follow: redefinitions only append.
func (c *comparison) comparePools() string {
	f, g := &c.file.Pool, &c.given.Pool
	if f.Len() > g.Len() {
		return fmt.Sprintf("it has %d constants, not %d", f.Len()-1, g.Len()-1)
	}
	for i := 1; i < f.Len(); i++ {
		if !sameConstant(f, g, uint16(i), uint16(i)) {
			return fmt.Sprintf("constant %d differs", i)
		}
	}
	return ""
}

// sameConstant compares by meaning where the bytes differ: if a pool contains a text twice,
// a JVM may refer to the other one.
func sameConstant(f, g *classfile.Pool, i, k uint16) bool {
	tag := f.Tag(i)
	if tag != g.Tag(k) {
		return false
	}
	if tag == 0 { // the second index of a long or double
		return true
	}
	x, err := f.Raw(i)
	y, err2 := g.Raw(k)
	return err == nil && err2 == nil && (bytes.Equal(x, y) || sameMeaning(f, g, i, k, tag))
}

func sameMeaning(f, g *classfile.Pool, i, k uint16, tag classfile.Tag) bool {
	switch tag {
	case classfile.TagClass:
		return sameText(f.ClassName, g.ClassName, i, k)
	case classfile.TagString:
		return sameText(f.StringValue, g.StringValue, i, k)
	case classfile.TagMethodType:
		return sameText(f.MethodType, g.MethodType, i, k)
	}
	a, b, err := f.Pair(i)
	a2, b2, err2 := g.Pair(k)
	if err != nil || err2 != nil {
		return false
	}
	switch tag {
	case classfile.TagNameAndType:
		return sameText(f.Utf8, g.Utf8, a, a2) && sameText(f.Utf8, g.Utf8, b, b2)
	case classfile.TagFieldref, classfile.TagMethodref, classfile.TagInterfaceMethodref:
		return sameText(f.ClassName, g.ClassName, a, a2) && sameSignature(f, g, b, b2)
	case classfile.TagDynamic, classfile.TagInvokeDynamic:
		return a == a2 && sameSignature(f, g, b, b2)
	case classfile.TagMethodHandle:
		return a == a2 && f.Tag(b) == g.Tag(b2) && f.Tag(b) != classfile.TagMethodHandle && sameConstant(f, g, b, b2)
	}
	return false
}

func sameSignature(f, g *classfile.Pool, i, k uint16) bool {
	name, descriptor, err := f.NameAndType(i)
	name2, descriptor2, err2 := g.NameAndType(k)
	return err == nil && err2 == nil && bytes.Equal(name, name2) && bytes.Equal(descriptor, descriptor2)
}

func sameText(f, g func(uint16) ([]byte, error), i, k uint16) bool {
	x, err := f(i)
	y, err2 := g(k)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}
