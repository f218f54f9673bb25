package callgraph

import "github.com/sonde-jvm/sonde/classfile"

func (r *reader) add(kind callKind, owner classID, s sigID) {
	r.found = append(r.found, r.h.call(kind, owner, s))
}

// class returns the class a Class entry names.
func (r *reader) class(index uint16) (classID, error) {
	name, err := r.file.Pool.ClassName(index)
	if err != nil {
		return 0, err
	}
	return r.h.classNamed(name), nil
}

// member returns what a reference names. ok is false for members of arrays: the JVM
// makes them, and they call nothing.
func (r *reader) member(index uint16) (owner classID, s sigID, ok bool, err error) {
	class, name, descriptor, err := r.file.Pool.Member(index)
	if err != nil || len(class) == 0 || class[0] == '[' {
		return 0, 0, false, err
	}
	return r.h.classNamed(class), r.h.signature(name, descriptor), true, nil
}

func (r *reader) invoke(use int, index uint16) error {
	owner, s, ok, err := r.member(index)
	if err != nil || !ok {
		return err
	}
	switch use {
	case useVirtual:
		r.add(virtual, owner, s)
	case useStatic:
		r.add(exact, owner, s)
		r.add(initialize, owner, 0)
	case useSpecial:
		r.add(exact, owner, s)
		// super.m() calls the nearest above this class, even where the compiler knew
		// only a declaration further up.
		super := r.draft.super
		if super >= 0 && owner != super && owner != r.draft.class && r.h.sigs[s].name != "<init>" {
			r.add(exact, super, s)
		}
	}
	return nil
}

// constant reads an entry that is loaded or linked. That a class is loaded does not
// initialise it.
func (r *reader) constant(index uint16) error {
	switch r.file.Pool.Tag(index) {
	case classfile.TagMethodHandle:
		return r.handle(index)
	case classfile.TagDynamic, classfile.TagInvokeDynamic:
		return r.dynamic(index)
	case 0:
		return &classfile.PoolError{Index: index, Want: "a constant"}
	}
	return nil
}

// initialized reads an entry, of a class or static field, whose class is initialised.
func (r *reader) initialized(index uint16) error {
	if r.file.Pool.Tag(index) == classfile.TagFieldref {
		var err error
		if index, _, err = r.file.Pool.Pair(index); err != nil {
			return err
		}
	}
	name, err := r.file.Pool.ClassName(index)
	if err != nil || len(name) == 0 || name[0] == '[' {
		return err
	}
	r.add(initialize, r.h.classNamed(name), 0)
	return nil
}

// The kinds of method handles, JVMS 4.4.8.
const (
	handleGetStatic  = 2
	handlePutStatic  = 4
	handleStatic     = 6
	handleSpecial    = 7
	handleNewSpecial = 8
)

func (r *reader) handle(index uint16) error {
	kind, reference, err := r.file.Pool.Pair(index)
	if err != nil {
		return err
	}
	if kind <= handlePutStatic {
		if kind == handleGetStatic || kind == handlePutStatic {
			return r.initialized(reference)
		}
		return nil
	}
	owner, s, ok, err := r.member(reference)
	if err != nil || !ok {
		return err
	}
	switch kind {
	case handleStatic, handleNewSpecial:
		r.add(exact, owner, s)
		r.add(initialize, owner, 0)
	case handleSpecial:
		r.add(exact, owner, s)
	default:
		r.add(virtual, owner, s)
	}
	return nil
}
