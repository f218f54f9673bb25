package classfile

// Tag is the kind of a constant pool entry.
type Tag uint8

// The tags of JVMS 4.4.
const (
	TagUtf8               Tag = 1
	TagInteger            Tag = 3
	TagFloat              Tag = 4
	TagLong               Tag = 5
	TagDouble             Tag = 6
	TagClass              Tag = 7
	TagString             Tag = 8
	TagFieldref           Tag = 9
	TagMethodref          Tag = 10
	TagInterfaceMethodref Tag = 11
	TagNameAndType        Tag = 12
	TagMethodHandle       Tag = 15
	TagMethodType         Tag = 16
	TagDynamic            Tag = 17
	TagInvokeDynamic      Tag = 18
	TagModule             Tag = 19
	TagPackage            Tag = 20
)

var tagNames = [...]string{
	TagUtf8: "Utf8", TagInteger: "Integer", TagFloat: "Float", TagLong: "Long", TagDouble: "Double",
	TagClass: "Class", TagString: "String", TagFieldref: "Fieldref", TagMethodref: "Methodref",
	TagInterfaceMethodref: "InterfaceMethodref", TagNameAndType: "NameAndType",
	TagMethodHandle: "MethodHandle", TagMethodType: "MethodType", TagDynamic: "Dynamic",
	TagInvokeDynamic: "InvokeDynamic", TagModule: "Module", TagPackage: "Package",
}

// tagSize is the length of an entry with its tag; Utf8's lacks its text.
var tagSize = [256]uint8{
	TagUtf8: 3, TagInteger: 5, TagFloat: 5, TagLong: 9, TagDouble: 9, TagClass: 3, TagString: 3,
	TagFieldref: 5, TagMethodref: 5, TagInterfaceMethodref: 5, TagNameAndType: 5,
	TagMethodHandle: 4, TagMethodType: 3, TagDynamic: 5, TagInvokeDynamic: 5, TagModule: 3, TagPackage: 3,
}

// String returns the tag's name in the specification.
func (t Tag) String() string {
	if int(t) < len(tagNames) && tagNames[t] != "" {
		return tagNames[t]
	}
	return "undefined"
}

// Wide reports whether an entry of this kind takes two indices.
func (t Tag) Wide() bool { return t == TagLong || t == TagDouble }
