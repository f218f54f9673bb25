package callgraph

import (
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

// mostBodies bounds how many classes are kept with their code decoded. Those of one level
// are often needed one after the other; a large one takes megabytes.
const mostBodies = 32

// bodies are the methods of one class file.
type bodies struct {
	reader
	byName map[string]*classfile.Member
}

// Calls returns the direct calls of a method's body in any of the classes of that name, in
// the order of the instructions, each once; none if it has no body, its class is skipped,
// or Settings.Bodies is not set.
func (g *Graph) Calls(m classfile.MethodRef) (calls []DirectCall) {
	g.mu.Lock()
	defer g.mu.Unlock()
	id, ok := g.hierarchy.classIDs[m.Class]
	if !ok || g.hierarchy.classes[id].skipped {
		return nil
	}
	known := make(map[DirectCall]bool)
	for _, b := range g.bodiesOf(id) {
		member := b.byName[m.Member()]
		if member == nil {
			continue
		}
		code := b.file.Find(member.Attributes, classfile.KindCode)
		if code == nil {
			continue
		}
		// It was read when it was added, so there is no error.
		_ = b.eachUse(code.Data, func(op opcode.Op, index uint16, ids []callID) error {
			for _, id := range ids {
				call, err := b.direct(op, index, id)
				if err != nil {
					return err
				}
				// A class is initialised before its own bodies run.
				own := call.Kind == Initializer && b.h.calls[id].owner == b.draft.class
				if !known[call] && !own {
					known[call] = true
					calls = append(calls, call)
				}
			}
			return nil
		})
	}
	return calls
}

// bodiesOf reads the files of a class, again if they were forgotten.
func (g *Graph) bodiesOf(class classID) []*bodies {
	if all, known := g.bodies[class]; known {
		return all
	}
	if len(g.bodies) >= mostBodies {
		clear(g.bodies)
	}
	var all []*bodies
	for _, file := range g.files[class] {
		b := &bodies{reader: reader{h: g.hierarchy}, byName: make(map[string]*classfile.Member)}
		if _, err := b.read(file); err != nil {
			continue // it was read when it was added
		}
		for i := range b.file.Methods {
			if name, descriptor, err := b.file.MemberName(&b.file.Methods[i]); err == nil {
				b.byName[string(name)+string(descriptor)] = &b.file.Methods[i]
			}
		}
		all = append(all, b)
	}
	g.bodies[class] = all
	return all
}

// direct returns the call that an instruction makes.
func (b *bodies) direct(op opcode.Op, index uint16, id callID) (DirectCall, error) {
	h := b.h
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
func (b *bodies) linkedKind(index uint16, target classfile.MethodRef) (CallKind, error) {
	if b.file.Pool.Tag(index) != classfile.TagInvokeDynamic {
		return Dynamic, nil
	}
	boot, err := b.bootstrap(index)
	if err != nil {
		return 0, err
	}
	class, err := b.bootstrapClass(boot)
	if err != nil || class != metafactories {
		return Dynamic, err
	}
	declared := b.byName[target.Member()]
	if target.Class == b.h.classes[b.draft.class].name && declared != nil && declared.Access.Has(classfile.AccSynthetic) {
		return Lambda, nil
	}
	return Reference, nil
}
