package classfile

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
)

// Check verifies what [Parse] does not: that each index in the constant pool, the class,
// its members and their attributes refers to an entry of the right kind, that every
// attribute of the specification is well-formed, and that no dynamic constant depends on
// itself. It does not check instructions; package code does.
//
// The error is a *FormatError. Its offset refers to the file that the class was parsed
// from; for a class that was changed, to the file that [Class.Append] writes.
//
// An attribute in a place where the specification does not allow it is ignored.
func (c *Class) Check() error {
	k := &checker{class: c, pool: &c.Pool}
	if err := k.entries(); err != nil {
		return err
	}
	at, err := k.header(c.Pool.offset(c.Pool.Len()))
	if err != nil {
		return err
	}
	for _, members := range []struct {
		list  []Member
		what  string
		where place
	}{{c.Fields, "field", ofField}, {c.Methods, "method", ofMethod}} {
		at += 2
		for i := range members.list {
			size, err := k.member(&members.list[i], members.where)
			if err != nil {
				return within(err, at, fmt.Sprintf("%s %d, ", members.what, i))
			}
			at += size
		}
	}
	if _, err := k.attributes(c.Attributes, ofClass); err != nil {
		return within(err, at, "")
	}
	return k.dynamics()
}

type checker struct {
	class      *Class
	pool       *Pool
	bootstraps BootstrapMethods
}

// within converts an error whose offset counts from the start of a part.
func within(err error, offset int, outer string) error {
	var e *FormatError
	if !errors.As(err, &e) {
		return err
	}
	return &FormatError{outer + e.Structure, offset + e.Offset, e.Detail}
}

func (k *checker) demand(i uint16, want tagSet, structure string, offset int) error {
	if err := k.pool.lookFor(i, want); err != nil {
		return &FormatError{structure, offset, err.Error()}
	}
	return nil
}

// header checks the structures between the pool and the fields, and returns the offset
// of the fields.
func (k *checker) header(at int) (int, error) {
	c := k.class
	super := classEntry
	if c.Access.Has(AccModule) || c.Name() == "java/lang/Object" {
		super |= noEntry
	}
	if err := cmp.Or(k.demand(c.This, classEntry, "this class", at+2), k.demand(c.Super, super, "superclass", at+4)); err != nil {
		return 0, err
	}
	at += 8
	for i, index := range c.Interfaces {
		if err := k.demand(index, classEntry, fmt.Sprintf("interface %d of %d", i+1, len(c.Interfaces)), at); err != nil {
			return 0, err
		}
		at += 2
	}
	return at, nil
}

// member returns the member's length.
func (k *checker) member(m *Member, where place) (size int, err error) {
	if err := cmp.Or(k.demand(m.Name, utf8Entry, "name", 2), k.demand(m.Descriptor, utf8Entry, "descriptor", 4)); err != nil {
		return 0, err
	}
	if err := k.form(m.Descriptor, where == ofMethod); err != nil {
		return 0, &FormatError{"descriptor", 4, err.Error()}
	}
	size, err = k.attributes(m.Attributes, where)
	if err != nil {
		return 0, within(err, 6, "")
	}
	return 6 + size, nil
}

// offset returns the offset of an entry in the file that Append writes; for the index
// after the last entry, the end of the pool.
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

// entry checks an entry's references. The bootstrap methods of dynamic entries are
// checked by dynamics, after their table.
func (k *checker) entry(e []byte) error {
	word := func(at int) uint16 { return binary.BigEndian.Uint16(e[at:]) }
	switch tag := Tag(e[0]); tag {
	case TagClass, TagString, TagModule, TagPackage:
		return k.pool.lookFor(word(1), utf8Entry)
	case TagMethodType:
		return k.form(word(1), true)
	case TagFieldref, TagMethodref, TagInterfaceMethodref:
		return cmp.Or(k.pool.lookFor(word(1), classEntry), k.typed(word(3), tag != TagFieldref))
	case TagDynamic, TagInvokeDynamic:
		return k.typed(word(3), tag == TagInvokeDynamic)
	case TagNameAndType:
		return cmp.Or(k.pool.lookFor(word(1), utf8Entry), k.pool.lookFor(word(3), utf8Entry))
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
	return k.form(binary.BigEndian.Uint16(nt[2:]), method)
}

// form distinguishes descriptors of methods and fields by their first character. Package
// descriptor checks the rest.
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

// The kinds of method handles that refer to methods, JVMS 4.4.8; lower kinds refer to fields.
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
	// The entry of the reference may not have been checked yet.
	_, name, _, err := k.pool.Member(ref)
	if err != nil {
		return err
	}
	if (string(name) == "<init>") != (kind == handleNewInvokeSpecial) || string(name) == "<clinit>" {
		return fmt.Errorf("a method handle of kind %d cannot refer to a method called %q", kind, name)
	}
	return nil
}

// attributes checks a table of attributes and returns its length. Places bound how
// deep attributes nest: a class has records, records have components.
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
	if kinds[kind].where&where == 0 {
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

var errCyclic = errors.New("a dynamic constant that is, by itself or through others, an argument of its own bootstrap method")

// dynamics checks that dynamic entries name existing bootstrap methods, and that none
// depends on itself.
func (k *checker) dynamics() error {
	for i := 1; i < k.pool.Len(); i++ {
		if tag := k.pool.Tag(uint16(i)); tag != TagDynamic && tag != TagInvokeDynamic {
			continue
		}
		if method := k.bootstrapOf(uint16(i)); method >= len(k.bootstraps) {
			return k.entryError(i, fmt.Errorf("names bootstrap method %d, the class has %d", method, len(k.bootstraps)))
		}
	}
	return k.cycles()
}

func (k *checker) bootstrapOf(i uint16) int {
	method, _, _ := k.pool.Pair(i) // the entry is a dynamic one, which has two parts
	return int(method)
}

// cycles walks from bootstrap method to bootstrap method by their arguments that are
// dynamic constants. Constants that share a bootstrap method share a cycle, so each
// argument is looked at once, however many entries there are.
func (k *checker) cycles() error {
	const underWay, done = 1, 2
	state := make([]uint8, len(k.bootstraps))
	var visit func(method int) error
	visit = func(method int) error {
		if state[method] == done {
			return nil
		}
		state[method] = underWay
		for _, argument := range k.bootstraps[method].Arguments {
			if k.pool.Tag(argument) != TagDynamic {
				continue
			}
			next := k.bootstrapOf(argument)
			if state[next] == underWay {
				return k.entryError(int(argument), errCyclic)
			}
			if err := visit(next); err != nil {
				return err
			}
		}
		state[method] = done
		return nil
	}
	for method := range k.bootstraps {
		if err := visit(method); err != nil {
			return err
		}
	}
	return nil
}
