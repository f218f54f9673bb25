package classfile

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// offset returns where an entry stands in the file that Append writes; for the
// index behind the last, where the pool ends.
func (p *Pool) offset(i int) int {
	const first = 10 // magic, versions and count stand before
	if i >= len(p.at) {
		return first + p.end - p.start + len(p.tail)
	}
	if off := p.at[i]; off&added == 0 {
		return first + int(off) - p.start
	} else {
		return first + p.end - p.start + int(off&^added)
	}
}

// entries checks each entry by itself and what it refers to.
func (k *checker) entries() error {
	for i := 1; i < k.pool.Len(); i++ {
		if e := k.pool.entry(uint16(i)); e != nil {
			if err := k.entry(e); err != nil {
				return k.entryError(i, err)
			}
		}
	}
	return nil
}

func (k *checker) entryError(i int, err error) error {
	return &FormatError{fmt.Sprintf("constant pool entry %d", i), k.pool.offset(i), err.Error()}
}

// entry checks an entry's references. The bootstrap methods of dynamic ones are
// for later, when their table was seen to be sound.
func (k *checker) entry(e []byte) error {
	word := func(at int) uint16 { return binary.BigEndian.Uint16(e[at:]) }
	switch tag := Tag(e[0]); tag {
	case TagClass, TagString, TagModule, TagPackage:
		return k.pool.lookFor(word(1), utf8Entry)
	case TagMethodType:
		if err := k.pool.lookFor(word(1), utf8Entry); err != nil {
			return err
		}
		return k.form(word(1), true)
	case TagFieldref, TagMethodref, TagInterfaceMethodref:
		if err := k.pool.lookFor(word(1), classEntry); err != nil {
			return err
		}
		return k.typed(word(3), tag != TagFieldref)
	case TagDynamic, TagInvokeDynamic:
		return k.typed(word(3), tag == TagInvokeDynamic)
	case TagNameAndType:
		if err := k.pool.lookFor(word(1), utf8Entry); err != nil {
			return err
		}
		return k.pool.lookFor(word(3), utf8Entry)
	case TagMethodHandle:
		return k.handle(e[1], word(2))
	}
	return nil
}

// typed demands that i is a NameAndType with the descriptor of a method, or of a
// field.
func (k *checker) typed(i uint16, method bool) error {
	nt, err := k.pool.typed(i, TagNameAndType)
	if err != nil {
		return err
	}
	descriptor := binary.BigEndian.Uint16(nt[2:])
	if err := k.pool.lookFor(descriptor, utf8Entry); err != nil {
		return err
	}
	return k.form(descriptor, method)
}

// form tells descriptors of methods from those of fields. More of them than the
// first character only a reader of descriptors sees.
func (k *checker) form(descriptor uint16, method bool) error {
	text, err := k.pool.Utf8(descriptor)
	if err != nil {
		return err
	}
	switch {
	case len(text) == 0:
		return errors.New("its descriptor is empty")
	case method && text[0] != '(':
		return errors.New("its descriptor is that of a field, not of a method")
	case !method && text[0] == '(':
		return errors.New("its descriptor is that of a method, not of a field")
	}
	return nil
}

// The kinds of method handles, JVMS 4.4.8; those below are of fields.
const (
	handleInvokeVirtual    = 5
	handleInvokeStatic     = 6
	handleInvokeSpecial    = 7
	handleNewInvokeSpecial = 8
	handleInvokeInterface  = 9
)

// majorInterfaceCode is the first version whose interfaces may have code.
const majorInterfaceCode = 52

func (k *checker) handle(kind uint8, ref uint16) error {
	var want tagSet
	switch kind {
	case 1, 2, 3, 4:
		return k.pool.lookFor(ref, fieldEntry)
	case handleInvokeVirtual, handleNewInvokeSpecial:
		want = classMethod
	case handleInvokeStatic, handleInvokeSpecial:
		want = classMethod
		if k.class.Major >= majorInterfaceCode {
			want |= interfaceMethod
		}
	case handleInvokeInterface:
		want = interfaceMethod
	default:
		return fmt.Errorf("no such method handle kind: %d, must be 1 to 9", kind)
	}
	if err := k.pool.lookFor(ref, want); err != nil {
		return err
	}
	// What the reference leads to may not have been looked at yet.
	_, name, _, err := k.pool.Member(ref)
	if err != nil {
		return err
	}
	if (string(name) == "<init>") != (kind == handleNewInvokeSpecial) || string(name) == "<clinit>" {
		return fmt.Errorf("a method handle of kind %d cannot refer to a method called %q", kind, name)
	}
	return nil
}
