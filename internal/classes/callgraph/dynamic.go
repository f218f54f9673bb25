package callgraph

import (
	"encoding/binary"

	"github.com/sonde-jvm/sonde/classfile"
)

const (
	metafactories = "java/lang/invoke/LambdaMetafactory"
	concatFactory = "java/lang/invoke/StringConcatFactory"
)

// bootstrap returns the row of the BootstrapMethods a dynamic entry goes by.
func (r *reader) bootstrap(index uint16) (*classfile.BootstrapMethod, error) {
	row, _, err := r.file.Pool.Pair(index)
	if err != nil {
		return nil, err
	}
	if int(row) >= len(r.boots) {
		return nil, &classfile.PoolError{Index: index, Want: "a bootstrap method that exists", Got: r.file.Pool.Tag(index)}
	}
	return &r.boots[row], nil
}

// bootstrapClass returns the class of the bootstrap method itself.
func (r *reader) bootstrapClass(boot *classfile.BootstrapMethod) (string, error) {
	_, reference, err := r.file.Pool.Pair(boot.Handle)
	if err != nil {
		return "", err
	}
	class, _, _, err := r.file.Pool.Member(reference)
	return string(class), err
}

// dynamic reads a call site or constant that is linked when it is first met: the
// bootstrap method runs, and whatever handles it is given may be called.
func (r *reader) dynamic(index uint16) error {
	if r.linked[index] == r.round {
		return nil // read already, or a constant that needs itself, which the JVM refuses
	}
	r.linked[index] = r.round
	boot, err := r.bootstrap(index)
	if err != nil {
		return err
	}
	class, err := r.bootstrapClass(boot)
	if err != nil {
		return err
	}
	descriptor, err := r.file.Pool.Descriptor(index)
	if err != nil {
		return err
	}
	// Text is joined by calling toString() of what is joined.
	if class != metafactories && (class != concatFactory || !hasPlainArguments(descriptor)) {
		if err := r.handle(boot.Handle); err != nil {
			return err
		}
	}
	for _, argument := range boot.Arguments {
		switch r.file.Pool.Tag(argument) {
		case classfile.TagMethodHandle, classfile.TagDynamic:
			if err := r.constant(argument); err != nil {
				return err
			}
		}
	}
	return nil
}

// readLambda notes the class that a call site of LambdaMetafactory makes. The site
// need not be met again to matter: the object may have been made long ago.
//
//	metafactory      arguments: MethodType, MethodHandle, MethodType
//	altMetafactory   further: flags, number and list of marker interfaces (Class),
//	                 number and list of bridges (MethodType)
func (r *reader) readLambda(index uint16, skipped bool) error {
	boot, err := r.bootstrap(index)
	if err != nil {
		return err
	}
	class, err := r.bootstrapClass(boot)
	if err != nil || class != metafactories || len(boot.Arguments) < 3 {
		return err
	}
	_, nameAndType, err := r.file.Pool.Pair(index)
	if err != nil {
		return err
	}
	name, descriptor, err := r.file.Pool.NameAndType(nameAndType)
	if err != nil {
		return err
	}
	functional := returnedClass(descriptor)
	if functional == nil {
		return nil
	}
	var l draftLambda
	l.supers = append(l.supers, r.h.classNamed(functional), r.h.object)
	// Whoever calls a skipped interface is thought to be called back anyway.
	if skipped && r.h.classes[l.supers[0]].skipped {
		return nil
	}
	for i, argument := range boot.Arguments {
		if i == 1 || i == 2 { // the handle; the type that casts are made to
			continue
		}
		switch r.file.Pool.Tag(argument) {
		case classfile.TagMethodType:
			implemented, err := r.file.Pool.MethodType(argument)
			if err != nil {
				return err
			}
			l.sigs = append(l.sigs, r.h.signature(name, implemented))
		case classfile.TagClass:
			marker, err := r.class(argument)
			if err != nil {
				return err
			}
			l.supers = append(l.supers, marker)
		}
	}
	start := len(r.found)
	r.round++
	if err := r.constant(boot.Arguments[1]); err != nil {
		return err
	}
	l.calls = append(l.calls, r.found[start:]...)
	r.draft.lambdas = append(r.draft.lambdas, l)
	return nil
}

// returnedClass returns the class a descriptor returns, nil where it is none.
func returnedClass(descriptor []byte) []byte {
	for i, b := range descriptor {
		if b == ')' && i+3 < len(descriptor) && descriptor[i+1] == 'L' {
			return descriptor[i+2 : len(descriptor)-1]
		}
	}
	return nil
}

// key tells lambdas apart.
func (l *draftLambda) key() string {
	var key []byte
	for _, c := range l.supers {
		key = binary.BigEndian.AppendUint32(key, uint32(c))
	}
	key = append(key, '(')
	for _, s := range l.sigs {
		key = binary.BigEndian.AppendUint32(key, uint32(s))
	}
	key = append(key, ')')
	for _, c := range l.calls {
		key = binary.BigEndian.AppendUint32(key, uint32(c))
	}
	return string(key)
}
