package classfile

import "fmt"

// place is a set of structures that have attributes.
type place uint8

const (
	ofClass place = 1 << iota
	ofField
	ofMethod
	ofCode
	ofComponent
	ofMembers = ofField | ofMethod
)

// known says where the specification knows an attribute: JVMS 4.7, table C. From
// which class-file version on is of no matter: an older class that has one means it.
var known = [kindCount]place{
	KindConstantValue:                        ofField,
	KindCode:                                 ofMethod,
	KindStackMapTable:                        ofCode,
	KindExceptions:                           ofMethod,
	KindInnerClasses:                         ofClass,
	KindEnclosingMethod:                      ofClass,
	KindSynthetic:                            ofClass | ofMembers,
	KindSignature:                            ofClass | ofMembers | ofComponent,
	KindSourceFile:                           ofClass,
	KindSourceDebugExtension:                 ofClass,
	KindLineNumberTable:                      ofCode,
	KindLocalVariableTable:                   ofCode,
	KindLocalVariableTypeTable:               ofCode,
	KindDeprecated:                           ofClass | ofMembers,
	KindRuntimeVisibleAnnotations:            ofClass | ofMembers | ofComponent,
	KindRuntimeInvisibleAnnotations:          ofClass | ofMembers | ofComponent,
	KindRuntimeVisibleParameterAnnotations:   ofMethod,
	KindRuntimeInvisibleParameterAnnotations: ofMethod,
	KindRuntimeVisibleTypeAnnotations:        ofClass | ofMembers | ofCode | ofComponent,
	KindRuntimeInvisibleTypeAnnotations:      ofClass | ofMembers | ofCode | ofComponent,
	KindAnnotationDefault:                    ofMethod,
	KindBootstrapMethods:                     ofClass,
	KindMethodParameters:                     ofMethod,
	KindModule:                               ofClass,
	KindModulePackages:                       ofClass,
	KindModuleMainClass:                      ofClass,
	KindNestHost:                             ofClass,
	KindNestMembers:                          ofClass,
	KindRecord:                               ofClass,
	KindPermittedSubclasses:                  ofClass,
}

// attributes checks a table of attributes and returns its length. Places bound how
// deep attributes nest: a class has records, those components, and these nothing.
func (k *checker) attributes(list []Attribute, where place) (size int, err error) {
	size = 2
	for i, a := range list {
		if err := k.pool.lookFor(a.Name, utf8Entry); err != nil {
			structure := fmt.Sprintf("attribute %d of %d", i+1, len(list))
			if where == ofClass {
				structure = "class " + structure
			}
			return 0, &FormatError{structure, size, err.Error()}
		}
		size += 6
		if err := k.attribute(a, where); err != nil {
			return 0, within(err, size, "")
		}
		size += len(a.Data)
	}
	return size, nil
}

func (k *checker) attribute(a Attribute, where place) error {
	kind := k.class.Kind(a.Name)
	if known[kind]&where == 0 {
		return nil
	}
	contents, err := k.class.decode(a, k.pool)
	if err != nil {
		return err
	}
	switch contents := contents.(type) {
	case BootstrapMethods:
		if k.bootstraps != nil {
			return &FormatError{kind.String(), 0, "a class has one at most"}
		}
		k.bootstraps = contents
	case *Code:
		_, err := k.attributes(contents.Attributes, ofCode)
		return within(err, 8+len(contents.Bytes)+2+8*len(contents.Handlers), "Code, ")
	case Record:
		at := 2
		for i := range contents {
			size, err := k.attributes(contents[i].Attributes, ofComponent)
			if err != nil {
				return within(err, at+4, fmt.Sprintf("Record, component %d, ", i))
			}
			at += 4 + size
		}
	}
	return nil
}
