package callgraph

import (
	"fmt"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// CallKind is how a body calls.
type CallKind uint8

// The kinds of calls.
const (
	Virtual     CallKind = iota // invokevirtual
	Interface                   // invokeinterface
	Static                      // invokestatic
	Special                     // invokespecial: of super, or of a private method
	Constructor                 // invokespecial of <init>
	Lambda                      // a lambda is made here; whoever gets it may call it
	Reference                   // likewise a method reference
	Dynamic                     // a bootstrap method, or a handle among its arguments
	Initializer                 // a class is used that may not be initialised yet
)

var kindNames = [...]string{
	"virtual", "interface", "static", "special", "constructor", "lambda", "method reference", "dynamic", "initializer",
}

func (k CallKind) String() string { return kindNames[k] }

// A DirectCall is a call that an instruction of a body makes.
type DirectCall struct {
	Kind CallKind
	// Declared is the method that the instruction names; for an Initializer only its class.
	Declared classfile.MethodRef
	// Reflects and Handles report that the target is decided at run time: by reflection,
	// or by a method handle.
	Reflects, Handles bool

	id callID
}

// Bodies are the methods of one class file with the calls they make, in the order of
// their instructions. Calls are read on demand.
type Bodies struct {
	graph  *Graph
	reader reader
	byName map[string]*classfile.Member
}

// Bodies reads the methods of a class file, which need not have been added. It does not
// add the class. data must not change while the result is in use.
func (g *Graph) Bodies(data []byte) (*Bodies, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := &Bodies{graph: g, reader: reader{h: g.hierarchy}}
	if _, err := b.reader.read(data); err != nil {
		return nil, err
	}
	methods := b.reader.file.Methods
	b.byName = make(map[string]*classfile.Member, len(methods))
	for i := range methods {
		name, descriptor, err := b.reader.file.MemberName(&methods[i])
		if err != nil {
			return nil, err
		}
		b.byName[string(name)+string(descriptor)] = &methods[i]
	}
	return b, nil
}

// Calls returns the direct calls of a method's body, each once; none if it has no body or
// its class is skipped.
func (b *Bodies) Calls(name, descriptor string) ([]DirectCall, error) {
	b.graph.mu.Lock()
	defer b.graph.mu.Unlock()
	r := &b.reader
	m := b.byName[name+descriptor]
	if m == nil || r.h.classes[r.draft.class].skipped {
		return nil, nil
	}
	attribute := r.file.Find(m.Attributes, classfile.KindCode)
	if attribute == nil {
		return nil, nil
	}
	body := attribute.Data[codeHeader : codeHeader+shapeOf(attribute.Data).Bytes] // read has found it whole
	var calls []DirectCall
	known := make(map[DirectCall]bool)
	for at := 0; at < len(body); at += opcode.LengthAt(body, at) {
		use, index := useOf(opcode.Op(body[at]), body[at:])
		if use < 0 {
			continue
		}
		ids, err := r.meaning(int(index)*uses+use, use, index)
		if err != nil {
			return nil, fmt.Errorf("method %s%s: %w", name, descriptor, err)
		}
		for _, id := range ids {
			call, err := b.direct(opcode.Op(body[at]), index, id)
			if err != nil {
				return nil, fmt.Errorf("method %s%s: %w", name, descriptor, err)
			}
			if !known[call] && !b.isUnderWay(call) {
				known[call] = true
				calls = append(calls, call)
			}
		}
	}
	return calls, nil
}

// direct returns the call that an instruction makes.
func (b *Bodies) direct(op opcode.Op, index uint16, id callID) (DirectCall, error) {
	h := b.graph.hierarchy
	c := &h.calls[id]
	d := DirectCall{Declared: classfile.MethodRef{Class: h.classes[c.owner].name}, Reflects: c.reflects, Handles: c.handles, id: id}
	if c.kind == initialize {
		d.Kind = Initializer
		return d, nil
	}
	d.Declared.Name, d.Declared.Descriptor = h.sigs[c.sig].name, h.sigs[c.sig].descriptor
	var err error
	switch op {
	case opcode.Invokevirtual:
		d.Kind = Virtual
	case opcode.Invokeinterface:
		d.Kind = Interface
	case opcode.Invokestatic:
		d.Kind = Static
	case opcode.Invokespecial:
		d.Kind = Special
		if d.Declared.Name == constructorName {
			d.Kind = Constructor
		}
	default:
		d.Kind, err = b.linkedKind(index, d.Declared)
	}
	return d, err
}

const constructorName = "<init>"

// linkedKind distinguishes lambdas, method references and other linked targets. The body
// of a lambda is a synthetic private method.
func (b *Bodies) linkedKind(index uint16, target classfile.MethodRef) (CallKind, error) {
	r := &b.reader
	if r.file.Pool.Tag(index) != classfile.TagInvokeDynamic {
		return Dynamic, nil
	}
	boot, err := r.bootstrap(index)
	if err != nil {
		return 0, err
	}
	class, err := r.bootstrapClass(boot)
	switch {
	case err != nil || class != metafactories:
		return Dynamic, err
	case target.Class == b.graph.hierarchy.classes[r.draft.class].name && b.isSynthetic(target):
		return Lambda, nil
	}
	return Reference, nil
}

func (b *Bodies) isSynthetic(m classfile.MethodRef) bool {
	declared := b.byName[m.Name+m.Descriptor]
	return declared != nil && declared.Access.Has(classfile.AccSynthetic)
}

// isUnderWay reports whether a call initialises the class of the body, which must have
// begun before the body runs.
func (b *Bodies) isUnderWay(call DirectCall) bool {
	return call.Kind == Initializer && b.graph.hierarchy.calls[call.id].owner == b.reader.draft.class
}
