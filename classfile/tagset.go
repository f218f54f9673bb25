package classfile

import "strings"

// tagSet is the kinds of entries that an index may lead to, a bit each.
type tagSet uint32

// noEntry is the bit of an index that leads nowhere, which only index 0 may.
const noEntry tagSet = 1

const (
	utf8Entry         tagSet = 1 << TagUtf8
	integerEntry      tagSet = 1 << TagInteger
	floatEntry        tagSet = 1 << TagFloat
	longEntry         tagSet = 1 << TagLong
	doubleEntry       tagSet = 1 << TagDouble
	classEntry        tagSet = 1 << TagClass
	nameAndTypeEntry  tagSet = 1 << TagNameAndType
	methodHandleEntry tagSet = 1 << TagMethodHandle
	moduleEntry       tagSet = 1 << TagModule
	packageEntry      tagSet = 1 << TagPackage

	fieldEntry       tagSet = 1 << TagFieldref
	classMethod      tagSet = 1 << TagMethodref
	interfaceMethod  tagSet = 1 << TagInterfaceMethodref
	constantValues   tagSet = integerEntry | floatEntry | longEntry | doubleEntry | 1<<TagString
	dynamicConstants tagSet = 1 << TagDynamic
	loadable         tagSet = constantValues | classEntry | methodHandleEntry | 1<<TagMethodType | dynamicConstants
)

// String names the kinds, as in "Methodref or InterfaceMethodref".
func (s tagSet) String() string {
	if s&^noEntry == loadable {
		return "a constant that can be loaded"
	}
	var names []string
	for tag := TagUtf8; tag <= TagPackage; tag++ {
		if s&(1<<tag) != 0 {
			names = append(names, tag.String())
		}
	}
	return strings.Join(names, " or ")
}

// lookFor returns a PoolError unless index i leads to an entry of a kind wanted.
func (p *Pool) lookFor(i uint16, want tagSet) error {
	tag := p.Tag(i)
	if want&(1<<tag) == 0 || tag == 0 && i != 0 {
		return &PoolError{i, want.String(), tag}
	}
	return nil
}
