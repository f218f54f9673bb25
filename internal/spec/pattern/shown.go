package pattern

import (
	"encoding/binary"
	"iter"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
)

const (
	object        = "java/lang/Object"
	lambdaFactory = "java/lang/invoke/LambdaMetafactory" // links lambdas and method references
)

// shown is a class as it is shown to patterns. What several patterns ask for is read once.
type shown struct {
	class *classfile.Class
	types *universe.Types
	name  string
	above []string // itself first

	known struct {
		methods     []shownMethod
		annotations []string
		references  []reference
		lambdas     []lambda

		hasMethods, hasAnnotations, hasReferences, hasLambdas bool
	}
}

type shownMethod struct {
	classfile.MethodRef
	member      *classfile.Member
	key         string // name and descriptor
	hasCode     bool
	annotations []string // internal names
}

// A reference is a method that the constant pool of a class refers to.
type reference struct {
	classfile.MethodRef
	index uint16
}

// A lambda is a call site that makes an object which implements a method of an interface by calling a
// method of the class that has the site.
type lambda struct {
	made, name, descriptor string
	body                   classfile.MethodRef
}

func show(class *classfile.Class, types *universe.Types) *shown {
	name := class.Name()
	return &shown{class: class, types: types, name: name, above: types.Above(name)}
}

func hasCode(class *classfile.Class, member *classfile.Member) bool {
	return class.Find(member.Attributes, classfile.KindCode) != nil
}

func (s *shown) methods() []shownMethod {
	known := &s.known
	if known.hasMethods {
		return known.methods
	}
	known.hasMethods = true
	for i := range s.class.Methods {
		member := &s.class.Methods[i]
		name, descriptor, err := s.class.MemberName(member)
		if err != nil {
			continue // the JVM does not load it
		}
		m := shownMethod{MethodRef: classfile.MethodRef{Class: s.name, Name: string(name), Descriptor: string(descriptor)}, member: member}
		m.key, m.hasCode, m.annotations = m.Member(), hasCode(s.class, member), annotationsOf(s.class, member.Attributes)
		known.methods = append(known.methods, m)
	}
	return known.methods
}

// annotations returns the internal names of the annotations of the class itself.
func (s *shown) annotations() []string {
	if !s.known.hasAnnotations {
		s.known.hasAnnotations, s.known.annotations = true, annotationsOf(s.class, s.class.Attributes)
	}
	return s.known.annotations
}

func annotationsOf(class *classfile.Class, attributes []classfile.Attribute) (names []string) {
	for _, kind := range []classfile.Kind{classfile.KindRuntimeVisibleAnnotations, classfile.KindRuntimeInvisibleAnnotations} {
		attribute := class.Find(attributes, kind)
		if attribute == nil {
			continue
		}
		contents, err := class.Decode(*attribute)
		list, is := contents.(classfile.Annotations)
		if err != nil || !is {
			continue
		}
		for i := range list {
			descriptor, err := class.Pool.Utf8(list[i].Type)
			if err == nil && len(descriptor) > 2 && descriptor[0] == 'L' {
				names = append(names, string(descriptor[1:len(descriptor)-1]))
			}
		}
	}
	return names
}

func (s *shown) references() []reference {
	if s.known.hasReferences {
		return s.known.references
	}
	s.known.hasReferences = true
	for i := range s.class.Pool.Len() {
		index := uint16(i)
		if tag := s.class.Pool.Tag(index); tag != classfile.TagMethodref && tag != classfile.TagInterfaceMethodref {
			continue
		}
		if owner, name, descriptor, err := s.class.Pool.Member(index); err == nil {
			s.known.references = append(s.known.references, reference{classfile.MethodRef{Class: string(owner), Name: string(name), Descriptor: string(descriptor)}, index})
		}
	}
	return s.known.references
}

// callsOf yields the constant pool indexes of the methods that a method calls.
func callsOf(class *classfile.Class, member *classfile.Member) iter.Seq[uint16] {
	return func(yield func(uint16) bool) {
		code, err := class.Code(member.Attributes)
		if err != nil || code == nil {
			return
		}
		for at := 0; at < len(code.Bytes); {
			length := opcode.LengthAt(code.Bytes, at)
			if length == 0 || length > len(code.Bytes)-at {
				return
			}
			if op := opcode.Op(code.Bytes[at]); op >= opcode.Invokevirtual && op <= opcode.Invokeinterface {
				if !yield(binary.BigEndian.Uint16(code.Bytes[at+1:])) {
					return
				}
			}
			at += length
		}
	}
}

// bridged returns the method of the same name that a bridge calls.
func (s *shown) bridged(bridge *shownMethod) (called classfile.MethodRef, ok bool) {
	for index := range callsOf(s.class, bridge.member) {
		owner, name, descriptor, err := s.class.Pool.Member(index)
		if err == nil && string(name) == bridge.Name {
			return classfile.MethodRef{Class: string(owner), Name: bridge.Name, Descriptor: string(descriptor)}, true
		}
	}
	return called, false
}

func (s *shown) lambdas() []lambda {
	if s.known.hasLambdas {
		return s.known.lambdas
	}
	s.known.hasLambdas = true
	attribute := s.class.Find(s.class.Attributes, classfile.KindBootstrapMethods)
	if attribute == nil {
		return nil
	}
	contents, err := s.class.Decode(*attribute)
	boots, is := contents.(classfile.BootstrapMethods)
	if err != nil || !is {
		return nil
	}
	for i := range s.class.Pool.Len() {
		if index := uint16(i); s.class.Pool.Tag(index) == classfile.TagInvokeDynamic {
			if l, ok := s.lambda(index, boots); ok {
				s.known.lambdas = append(s.known.lambdas, l)
			}
		}
	}
	return s.known.lambdas
}

// lambda reads a call site of the lambda factory.
//
//	bootstrap arguments: MethodType that is implemented, MethodHandle of the body, …
func (s *shown) lambda(site uint16, boots classfile.BootstrapMethods) (l lambda, ok bool) {
	pool := &s.class.Pool
	row, nameAndType, err := pool.Pair(site)
	if err != nil || int(row) >= len(boots) || len(boots[row].Arguments) < 3 {
		return l, false
	}
	arguments := boots[row].Arguments
	if s.handled(boots[row].Handle).Class != lambdaFactory {
		return l, false
	}
	name, linked, err := pool.NameAndType(nameAndType)
	implemented, wrong := pool.MethodType(arguments[0])
	_, made, isClass := strings.Cut(strings.TrimSuffix(string(linked), ";"), ")L")
	if err != nil || wrong != nil || !isClass {
		return l, false
	}
	l = lambda{made: made, name: string(name), descriptor: string(implemented), body: s.handled(arguments[1])}
	body := s.class.Method(l.body.Name, l.body.Descriptor)
	return l, l.body.Class == s.name && body != nil && hasCode(s.class, body)
}

// handled returns the method of a method handle.
func (s *shown) handled(handle uint16) (m classfile.MethodRef) {
	if s.class.Pool.Tag(handle) != classfile.TagMethodHandle {
		return m
	}
	_, reference, err := s.class.Pool.Pair(handle)
	if err != nil {
		return m
	}
	owner, name, descriptor, err := s.class.Pool.Member(reference)
	if err != nil {
		return m
	}
	return classfile.MethodRef{Class: string(owner), Name: string(name), Descriptor: string(descriptor)}
}
