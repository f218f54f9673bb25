package classfile

// Kind is what an attribute is, by its name.
type Kind uint8

// The attributes of JVMS SE 25, 4.7, in the order of its table.
const (
	KindUnknown Kind = iota + 1
	KindConstantValue
	KindCode
	KindStackMapTable
	KindExceptions
	KindInnerClasses
	KindEnclosingMethod
	KindSynthetic
	KindSignature
	KindSourceFile
	KindSourceDebugExtension
	KindLineNumberTable
	KindLocalVariableTable
	KindLocalVariableTypeTable
	KindDeprecated
	KindRuntimeVisibleAnnotations
	KindRuntimeInvisibleAnnotations
	KindRuntimeVisibleParameterAnnotations
	KindRuntimeInvisibleParameterAnnotations
	KindRuntimeVisibleTypeAnnotations
	KindRuntimeInvisibleTypeAnnotations
	KindAnnotationDefault
	KindBootstrapMethods
	KindMethodParameters
	KindModule
	KindModulePackages
	KindModuleMainClass
	KindNestHost
	KindNestMembers
	KindRecord
	KindPermittedSubclasses
	kindCount
)

var kindNames = [kindCount]string{
	KindUnknown: "", KindConstantValue: "ConstantValue", KindCode: "Code", KindStackMapTable: "StackMapTable",
	KindExceptions: "Exceptions", KindInnerClasses: "InnerClasses", KindEnclosingMethod: "EnclosingMethod",
	KindSynthetic: "Synthetic", KindSignature: "Signature", KindSourceFile: "SourceFile",
	KindSourceDebugExtension: "SourceDebugExtension", KindLineNumberTable: "LineNumberTable",
	KindLocalVariableTable: "LocalVariableTable", KindLocalVariableTypeTable: "LocalVariableTypeTable",
	KindDeprecated: "Deprecated", KindRuntimeVisibleAnnotations: "RuntimeVisibleAnnotations",
	KindRuntimeInvisibleAnnotations:          "RuntimeInvisibleAnnotations",
	KindRuntimeVisibleParameterAnnotations:   "RuntimeVisibleParameterAnnotations",
	KindRuntimeInvisibleParameterAnnotations: "RuntimeInvisibleParameterAnnotations",
	KindRuntimeVisibleTypeAnnotations:        "RuntimeVisibleTypeAnnotations",
	KindRuntimeInvisibleTypeAnnotations:      "RuntimeInvisibleTypeAnnotations",
	KindAnnotationDefault:                    "AnnotationDefault", KindBootstrapMethods: "BootstrapMethods",
	KindMethodParameters: "MethodParameters", KindModule: "Module", KindModulePackages: "ModulePackages",
	KindModuleMainClass: "ModuleMainClass", KindNestHost: "NestHost", KindNestMembers: "NestMembers",
	KindRecord: "Record", KindPermittedSubclasses: "PermittedSubclasses",
}

var kindByName = func() map[string]Kind {
	m := make(map[string]Kind, kindCount)
	for k, name := range kindNames {
		if name != "" {
			m[name] = Kind(k)
		}
	}
	return m
}()

// String returns the attribute's name in the specification, "" for KindUnknown.
func (k Kind) String() string {
	if k < kindCount {
		return kindNames[k]
	}
	return ""
}

func kindOf(name []byte) Kind {
	if k, ok := kindByName[string(name)]; ok {
		return k
	}
	return KindUnknown
}
