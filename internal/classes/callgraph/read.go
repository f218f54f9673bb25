package callgraph

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/sonde-jvm/sonde/classfile"
)

// draft is what one class file says, read whole before any of it counts: a damaged
// file leaves no trace but names.
type draft struct {
	class   classID
	sum     [sha256.Size]byte
	super   classID // -1 where there is none
	supers  []classID
	methods []draftMethod
	lambdas []draftLambda
	outward []callID
	sought  []string // names of methods it may look up
}

type draftMethod struct {
	sig    sigID
	access classfile.Access
	shape  Shape
	calls  []callID
}

// draftLambda is a class that LambdaMetafactory would make.
type draftLambda struct {
	supers []classID
	sigs   []sigID // what it implements
	calls  []callID
}

// reader reads class files, one after the other, into the same memory.
type reader struct {
	h      *hierarchy
	file   classfile.Class
	boots  classfile.BootstrapMethods
	draft  draft
	memo   []span   // by pool index and use: which calls it means
	stamp  []int32  // by pool index and use: the method that was last seen to do so
	found  []callID // what spans are pieces of
	linked []uint32 // by pool index: the round in which a dynamic entry was read
	round  uint32   // counts entries that are read with all they lead to
}

// span is a piece of reader.found. An end of 0 says that it was not looked at.
type span struct{ start, end int32 }

func (r *reader) read(data []byte) (*draft, error) {
	if err := r.file.Read(data); err != nil {
		return nil, fmt.Errorf("mirroring a class: %w", err)
	}
	if err := r.readClass(data); err != nil {
		return nil, fmt.Errorf("mirroring class %s: %w", r.file.Name(), err)
	}
	return &r.draft, nil
}

func (r *reader) readClass(data []byte) error {
	name, err := r.file.Pool.ClassName(r.file.This)
	if err != nil {
		return err
	}
	if err := r.reset(); err != nil {
		return err
	}
	r.draft = draft{class: r.h.classNamed(name), sum: sha256.Sum256(data), super: -1}
	if r.file.Super != 0 {
		if r.draft.super, err = r.class(r.file.Super); err != nil {
			return err
		}
		r.draft.supers = append(r.draft.supers, r.draft.super)
	}
	for _, i := range r.file.Interfaces {
		super, err := r.class(i)
		if err != nil {
			return err
		}
		r.draft.supers = append(r.draft.supers, super)
	}
	for i := range r.file.Methods {
		if err := r.readMethod(int32(i+1), &r.file.Methods[i]); err != nil {
			return err
		}
	}
	if !r.h.classes[r.draft.class].skipped {
		if err := r.readSought(); err != nil {
			return err
		}
	}
	return r.readPool()
}

// reset forgets the class before, and finds the bootstrap methods of this one.
func (r *reader) reset() error {
	n := r.file.Pool.Len()
	r.memo = slices.Grow(r.memo[:0], n*uses)[:n*uses]
	r.stamp = slices.Grow(r.stamp[:0], n*uses)[:n*uses]
	r.linked = slices.Grow(r.linked[:0], n)[:n]
	clear(r.memo)
	clear(r.stamp)
	clear(r.linked)
	r.round = 0
	r.found = append(r.found[:0], -1) // no span begins at 0
	r.boots = nil
	if a := r.file.Find(r.file.Attributes, classfile.KindBootstrapMethods); a != nil {
		contents, err := r.file.Decode(*a)
		if err != nil {
			return err
		}
		r.boots, _ = contents.(classfile.BootstrapMethods)
	}
	return nil
}

func (r *reader) readMethod(number int32, m *classfile.Member) error {
	name, descriptor, err := r.file.MemberName(m)
	if err != nil {
		return err
	}
	d := draftMethod{sig: r.h.signature(name, descriptor), access: m.Access}
	if !r.h.classes[r.draft.class].skipped {
		if a := r.file.Find(m.Attributes, classfile.KindCode); a != nil {
			if d.calls, err = r.scan(number, a.Data); err != nil {
				return fmt.Errorf("method %s%s: %w", name, descriptor, err)
			}
			d.shape = shapeOf(a.Data)
		}
	}
	r.draft.methods = append(r.draft.methods, d)
	return nil
}

// readPool reads what counts for a class as a whole, whichever method does it: its
// lambdas, and, of a skipped class, what it may call outside.
func (r *reader) readPool() error {
	skipped := r.h.classes[r.draft.class].skipped
	for i := 1; i < r.file.Pool.Len(); i++ {
		index := uint16(i)
		var err error
		switch tag := r.file.Pool.Tag(index); {
		case tag == classfile.TagInvokeDynamic:
			err = r.readLambda(index, skipped)
		case skipped && (tag == classfile.TagMethodref || tag == classfile.TagInterfaceMethodref || tag == classfile.TagFieldref):
			err = r.readOutward(index)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readOutward notes a member of a class that is not skipped. The pool does not tell
// how it is called, so it is called in every way.
func (r *reader) readOutward(index uint16) error {
	class, _, err := r.file.Pool.Pair(index)
	if err != nil {
		return err
	}
	name, err := r.file.Pool.ClassName(class)
	if err != nil {
		return err
	}
	if len(name) == 0 || name[0] == '[' {
		return nil
	}
	owner := r.h.classNamed(name)
	if r.h.classes[owner].skipped {
		return nil
	}
	r.draft.outward = append(r.draft.outward, r.h.call(initialize, owner, 0))
	if r.file.Pool.Tag(index) == classfile.TagFieldref {
		return nil
	}
	_, s, ok, err := r.member(index)
	if err != nil || !ok {
		return err
	}
	r.draft.outward = append(r.draft.outward, r.h.call(virtual, owner, s))
	return nil
}
