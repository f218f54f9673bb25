package callgraph

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/opcode"
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
	memo   []span   // by pool index and use: the calls it makes
	found  []callID // what spans are pieces of
	linked []uint32 // by pool index: the round in which a dynamic entry was read
	round  uint32   // counts entries that are read with all they lead to
}

// span is a piece of reader.found. An end of 0 says that it was not looked at.
type span struct{ start, end int32 }

func (r *reader) read(data []byte) (*draft, error) {
	if err := r.file.Read(data); err != nil {
		return nil, fmt.Errorf("reading a class: %w", err)
	}
	if err := r.readClass(data); err != nil {
		return nil, fmt.Errorf("reading class %s: %w", r.file.Name(), err)
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
		if err := r.readMethod(&r.file.Methods[i]); err != nil {
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
	r.linked = slices.Grow(r.linked[:0], n)[:n]
	clear(r.memo)
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

func (r *reader) readMethod(m *classfile.Member) error {
	name, descriptor, err := r.file.MemberName(m)
	if err != nil {
		return err
	}
	d := draftMethod{sig: r.h.signature(name, descriptor), access: m.Access}
	if !r.h.classes[r.draft.class].skipped {
		if a := r.file.Find(m.Attributes, classfile.KindCode); a != nil {
			if d.calls, err = r.scan(a.Data); err != nil {
				return fmt.Errorf("method %s%s: %w", name, descriptor, err)
			}
			d.shape = shapeOf(a.Data)
		}
	}
	r.draft.methods = append(r.draft.methods, d)
	return nil
}

// readPool reads what concerns the class as a whole: its lambdas and, for a skipped class,
// its calls of other classes.
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

// readOutward records a member of a class that is not skipped. The pool does not show how
// it is called, so all kinds of calls are assumed.
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

// How an instruction uses a pool entry. One entry may be used in several ways.
const (
	useVirtual  = iota
	useSpecial  // invokespecial
	useStatic   // invokestatic
	useStatics  // a class that is initialised: new, getstatic, putstatic
	useConstant // ldc, invokedynamic
	uses
)

// codeHeader is the length of the header before the instructions: u2 stack, u2 locals, u4 length.
const codeHeader = 8

// scan returns the calls of a body, each once.
func (r *reader) scan(attribute []byte) (calls []callID, err error) {
	err = r.eachUse(attribute, func(_ opcode.Op, _ uint16, ids []callID) error {
		calls = append(calls, ids...)
		return nil
	})
	slices.Sort(calls)
	return slices.Clip(slices.Compact(calls)), err
}

// eachUse visits the instructions that may call, one after the other, including unreachable
// ones, with the index of the pool entry they use and the calls that this makes.
func (r *reader) eachUse(attribute []byte, visit func(op opcode.Op, index uint16, calls []callID) error) error {
	if len(attribute) < codeHeader {
		return &classfile.FormatError{Structure: "code", Offset: len(attribute), Detail: "truncated header"}
	}
	size := uint64(binary.BigEndian.Uint32(attribute[4:]))
	if size > uint64(len(attribute)-codeHeader) {
		return &classfile.FormatError{Structure: "code", Offset: 4, Detail: fmt.Sprintf("%d bytes of instructions do not fit", size)}
	}
	body := attribute[codeHeader : codeHeader+int(size)]
	for at := 0; at < len(body); {
		op := opcode.Op(body[at])
		length := opcode.LengthAt(body, at)
		if length == 0 || length > len(body)-at {
			return &classfile.FormatError{Structure: "code", Offset: at, Detail: "no whole instruction: " + op.String()}
		}
		use, index := useOf(op, body[at:])
		at += length
		if use < 0 {
			continue
		}
		if int(index) >= r.file.Pool.Len() {
			return &classfile.PoolError{Index: index, Want: "what " + op.String() + " uses"}
		}
		calls, err := r.meaning(use, index)
		if err == nil {
			err = visit(op, index, calls)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// useOf returns how an instruction that may call uses a pool entry, and its index. The use
// is -1 for other instructions.
func useOf(op opcode.Op, instruction []byte) (use int, index uint16) {
	switch op {
	case opcode.Invokevirtual, opcode.Invokeinterface:
		use = useVirtual
	case opcode.Invokespecial:
		use = useSpecial
	case opcode.Invokestatic:
		use = useStatic
	case opcode.New, opcode.Getstatic, opcode.Putstatic:
		use = useStatics
	case opcode.Invokedynamic, opcode.LdcW, opcode.Ldc2W:
		use = useConstant
	case opcode.Ldc:
		return useConstant, uint16(instruction[1])
	default:
		return -1, 0
	}
	return use, binary.BigEndian.Uint16(instruction[1:])
}

// meaning returns the calls that a use of a pool entry makes.
func (r *reader) meaning(use int, index uint16) ([]callID, error) {
	key := int(index)*uses + use
	if known := r.memo[key]; known.end != 0 {
		return r.found[known.start:known.end], nil
	}
	start := len(r.found)
	r.round++
	var err error
	switch use {
	case useStatics:
		err = r.initialized(index)
	case useConstant:
		err = r.constant(index)
	default:
		err = r.invoke(use, index)
	}
	if err != nil {
		return nil, err
	}
	r.memo[key] = span{int32(start), int32(len(r.found))}
	return r.found[start:], nil
}

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

// constant reads an entry that is loaded or linked. Loading a class constant does not
// initialise the class.
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
	// Concatenation calls toString() of its operands.
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

// readLambda records the class that a call site of LambdaMetafactory makes. It matters even
// if the site does not run again: the object may have been made long ago.
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
	_, class, found := bytes.Cut(descriptor, []byte(")L"))
	if !found || len(class) < 2 {
		return nil
	}
	return class[:len(class)-1]
}

// A class that looks methods up, to make handles of them, most often names them in
// its constants. A handle may be older than the graph, so that its target is unknown;
// so once handles are invoked, methods of these names count as called.

const lookup = "java/lang/invoke/MethodHandles$Lookup"

// readSought records the strings of a class that looks methods up.
func (r *reader) readSought() error {
	finds := false
	for i := 1; i < r.file.Pool.Len() && !finds; i++ {
		if r.file.Pool.Tag(uint16(i)) != classfile.TagMethodref {
			continue
		}
		class, name, _, err := r.file.Pool.Member(uint16(i))
		if err != nil {
			return err
		}
		if string(class) == lookup && strings.HasPrefix(string(name), "find") {
			finds = true
			if string(name) == "findConstructor" {
				r.draft.sought = append(r.draft.sought, "<init>")
			}
		}
	}
	for i := 1; i < r.file.Pool.Len() && finds; i++ {
		if r.file.Pool.Tag(uint16(i)) != classfile.TagString {
			continue
		}
		text, err := r.file.Pool.StringValue(uint16(i))
		if err != nil {
			return err
		}
		r.draft.sought = append(r.draft.sought, string(text))
	}
	return nil
}

// soughtOf reaches the methods of one class with a sought name.
func (r *reach) soughtOf(c classID) {
	class := &r.h.classes[c]
	if class.skipped || class.lambda || !class.mirrored() {
		return
	}
	for _, d := range class.methods {
		if r.h.sought[r.h.sigs[d.sig].name] {
			r.hit(none, d.id)
		}
	}
}
