package classfile

import (
	"errors"
	"fmt"
)

// Check looks at what [Parse] takes on trust: that each index of the constant pool,
// of the class, its members and their attributes leads to an entry of the right
// kind, that every attribute of the specification is whole, and that no dynamic
// constant depends on itself. It does not look at instructions; package code does.
//
// The error is a *FormatError. Its offset is that in the file the class was parsed
// from; in a class that was changed, that in the file [Class.Append] writes.
//
// An attribute in a place where the specification does not know it is as good as
// unknown, and passed over.
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

// checker is a Check under way.
type checker struct {
	class      *Class
	pool       *Pool
	bootstraps BootstrapMethods
}

// within places an error that counts from the start of a part.
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

// header checks what stands between the pool and the fields, and returns the
// offset of those.
func (k *checker) header(at int) (int, error) {
	c := k.class
	if err := k.demand(c.This, classEntry, "this class", at+2); err != nil {
		return 0, err
	}
	super := classEntry
	if c.Access.Has(AccModule) || c.Name() == "java/lang/Object" {
		super |= noEntry
	}
	if err := k.demand(c.Super, super, "superclass", at+4); err != nil {
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
	if err := k.demand(m.Name, utf8Entry, "name", 2); err != nil {
		return 0, err
	}
	if err := k.demand(m.Descriptor, utf8Entry, "descriptor", 4); err != nil {
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
