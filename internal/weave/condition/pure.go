package condition

import (
	"fmt"
	"slices"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/spec/expr"
)

// Limits of a proof. A larger method is no getter.
const (
	mostProven = 400 // instructions, in all methods together
	mostCalls  = 8   // deep
)

// A refusal is the reason why a method was not proven.
type refusal struct {
	kind expr.ErrorKind
	why  string
}

func impure(format string, args ...any) *refusal {
	return &refusal{expr.Impure, fmt.Sprintf(format, args...)}
}

func unproven(format string, args ...any) *refusal {
	return &refusal{expr.Unproven, fmt.Sprintf(format, args...)}
}

// prover proves that methods are pure: they read, compute and return. They write only local
// variables, create no object, take no lock, never jump back, start no class initialiser, and
// call only methods that are proven too. Its methods panic with a *refusal, which
// checker.getter recovers.
type prover struct {
	*checker
	count int
	stack []classfile.MethodRef
}

// proveCall proves every method that a call of m on a value of static type c may
// reach among the loaded classes.
func (p *prover) proveCall(m *member, c *Class) {
	if pureByKnowledge(m.class.Name(), m.name, m.desc) || p.mayCall(m) {
		p.rely(m.id())
		return
	}
	if p.isUncertain(c) {
		panic(uncertain(m, c))
	}
	if m.access.Has(classfile.AccPrivate) || m.access.Has(classfile.AccFinal) || m.class.File.Access.Has(classfile.AccFinal) || c.File.Access.Has(classfile.AccFinal) {
		p.prove(m)
		return
	}
	if p.scope.Subtypes == nil {
		panic(unproven("%s can be overridden, and the classes that may do so are not known", m.full()))
	}
	if c.isInterface() && p.functional(c) {
		panic(unproven("%s has a single method, so any lambda may implement it", descriptor.ExternalName(c.Name())))
	}
	list, all := p.scope.Subtypes(c.Name())
	if !all {
		panic(unproven("not all subclasses of %s can be read", descriptor.ExternalName(c.Name())))
	}
	p.open[c.Name()] = true
	for _, sub := range append([]*Class{c}, list...) {
		if sub.File.Access.Has(classfile.AccAbstract) {
			continue
		}
		p.known[sub.Name()] = sub
		p.proveIn(sub, m)
	}
}

// proveIn proves the methods that a call of m may run on an object of a class. An abstract
// method cannot run: the call would throw, which counts as false.
func (p *prover) proveIn(c *Class, m *member) {
	list, missing := p.selected(c, m.name, m.desc)
	if missing != "" {
		panic(unproven("class %s is not known, and %s may inherit %s from it", descriptor.ExternalName(missing), descriptor.ExternalName(c.Name()), m.name))
	}
	for _, chosen := range list {
		switch {
		case chosen.access.Has(classfile.AccAbstract):
		case pureByKnowledge(chosen.class.Name(), chosen.name, chosen.desc):
			p.rely(chosen.id())
		default:
			p.prove(chosen)
		}
	}
}

// functional reports whether a lambda may implement an interface: it has one abstract
// method, or not all its superinterfaces are known.
func (p *prover) functional(c *Class) bool {
	names := make(map[string]bool)
	all := []*Class{c}
	for i := 0; i < len(all); i++ {
		if i == mostSupers {
			return true
		}
		for j := range all[i].File.Methods {
			m := &all[i].File.Methods[j]
			if name, desc, err := all[i].File.MemberName(m); err == nil && m.Access.Has(classfile.AccAbstract) {
				names[string(name)+string(desc)] = true
			}
		}
		list, ok := p.interfaces(all[i])
		if !ok {
			return true
		}
		all = append(all, list...)
	}
	for _, own := range []string{"equals(Ljava/lang/Object;)Z", "hashCode()I", "toString()Ljava/lang/String;"} {
		delete(names, own)
	}
	return len(names) <= 1
}

// isUncertain reports whether a class may have another version when the condition runs.
func (k *checker) isUncertain(c *Class) bool {
	return k.scope.OwnOnly && c.Name() != k.scope.Class.Name()
}

func uncertain(m *member, of *Class) *refusal {
	return unproven("%s cannot be called, because the running program may have another version of %s than these files", m.full(), descriptor.ExternalName(of.Name()))
}

func declaresField(c *Class, field string) bool {
	return declared(c, c.File.Fields, func(name, _ string, _ classfile.Access) bool { return name == field }) != nil
}

// rely records a method that the condition may run.
func (k *checker) rely(m classfile.MethodRef) {
	if !slices.Contains(k.methods, m) {
		k.methods = append(k.methods, m)
	}
}

func (p *prover) prove(m *member) {
	full := m.id()
	switch {
	case slices.Contains(p.stack, full):
		panic(impure("%s calls itself", m.full()))
	case len(p.stack) >= mostCalls:
		panic(impure("%s is nested too deep in calls of other methods", m.full()))
	case p.proven[full]:
		return
	case p.isUncertain(m.class):
		panic(uncertain(m, m.class))
	case m.access.Has(classfile.AccSynchronized):
		panic(impure("%s is synchronized: it may wait", m.full()))
	case m.access.Has(classfile.AccNative):
		panic(impure("%s is native", m.full()))
	case p.scope.Probed != nil && p.scope.Probed(full):
		panic(impure("%s has a hook itself, which would count the calls of this condition", m.full()))
	case full == p.own:
		panic(impure("%s is the method that this condition belongs to", m.full()))
	}
	p.stack = append(p.stack, full)
	defer func() { p.stack = p.stack[:len(p.stack)-1] }()
	body, err := code.Lift(m.class.File, m.m)
	if err != nil {
		panic(unproven("%s cannot be read: %v", m.full(), err))
	}
	if body == nil {
		panic(impure("%s has no code", m.full()))
	}
	if len(body.Handlers) > 0 {
		panic(impure("%s catches exceptions", m.full()))
	}
	p.instructions(m, body)
	p.proven[full] = true
	p.rely(full)
}

func (p *prover) instructions(m *member, body *code.Body) {
	passed := make(map[*code.Node]bool) // labels
	for n := body.First(); n != nil; n = n.Next() {
		if n.Kind == code.Label {
			passed[n] = true
		}
		if n.Kind != code.Instruction {
			continue
		}
		if p.count++; p.count > mostProven {
			panic(impure("%s does more than a getter would", m.full()))
		}
		if n.Target() != nil && passed[n.Target()] {
			panic(impure("%s has a loop", m.full()))
		}
		p.instruction(m, body, n, passed)
	}
}

func (p *prover) instruction(m *member, body *code.Body, n *code.Node, passed map[*code.Node]bool) {
	pool := &m.class.File.Pool
	switch op := n.Op(); op {
	case opcode.Tableswitch, opcode.Lookupswitch:
		sw := body.Switch(n)
		for _, t := range append([]*code.Node{sw.Default}, sw.Targets...) {
			if passed[t] {
				panic(impure("%s has a loop", m.full()))
			}
		}
	case opcode.Ldc, opcode.Ldc2W:
		switch pool.Tag(n.Index()) {
		case classfile.TagInteger, classfile.TagFloat, classfile.TagLong, classfile.TagDouble, classfile.TagString:
		default:
			panic(impure("%s loads a constant that may run code", m.full()))
		}
	case opcode.Checkcast, opcode.Instanceof:
		name, err := pool.ClassName(n.Index())
		if err != nil {
			panic(unproven("%s cannot be read: %v", m.full(), err))
		}
		if name[0] != '[' && p.look(string(name)) == nil {
			panic(unproven("%s names class %s, which is not known: loading it may run code", m.full(), descriptor.ExternalName(string(name))))
		}
	case opcode.Getstatic, opcode.Invokestatic, opcode.Invokespecial, opcode.Invokevirtual, opcode.Invokeinterface:
		p.use(m, n)
	default:
		if !harmless[op] {
			panic(impure("%s %s", m.full(), whatItDoes(op)))
		}
	}
}

// use proves a call, or the reading of a static field.
func (p *prover) use(m *member, n *code.Node) {
	owner, name, desc, err := m.class.File.Pool.Member(n.Index())
	if err != nil {
		panic(unproven("%s cannot be read: %v", m.full(), err))
	}
	if pureByKnowledge(string(owner), string(name), string(desc)) {
		p.rely(classfile.MethodRef{Class: string(owner), Name: string(name), Descriptor: string(desc)})
		return
	}
	c := p.look(string(owner))
	if c == nil {
		panic(unproven("%s uses class %s, which is not known", m.full(), descriptor.ExternalName(string(owner))))
	}
	if n.Op() == opcode.Getstatic || n.Op() == opcode.Invokestatic {
		if p.isUncertain(c) || n.Op() == opcode.Getstatic && p.scope.OwnOnly && !declaresField(c, string(name)) {
			panic(unproven("%s uses a static member of %s or of a class or interface above it, and the running program may have another version of that than these files", m.full(), descriptor.ExternalName(string(owner))))
		}
		init, known := p.clinit(c)
		if !known || init != "" {
			panic(impure("%s uses a static member of %s: that may run a static initialiser", m.full(), descriptor.ExternalName(string(owner))))
		}
		if n.Op() == opcode.Getstatic {
			return
		}
	}
	target, missing := p.target(c, string(name), string(desc), n.Op() == opcode.Invokestatic)
	if target == nil {
		panic(unproven("%s calls %s.%s, which is not found%s", m.full(), descriptor.ExternalName(string(owner)), name, becauseOf(missing)))
	}
	if n.Op() == opcode.Invokestatic || n.Op() == opcode.Invokespecial {
		p.prove(target)
		return
	}
	if p.isUncertain(c) { // what is pure by knowledge was looked for above, by the class the call names
		panic(uncertain(target, c))
	}
	p.proveCall(target, c)
}

func becauseOf(missing string) string {
	if missing == "" {
		return ""
	}
	return ": " + descriptor.ExternalName(missing) + " is not known"
}

// target resolves a call with a descriptor.
func (p *prover) target(c *Class, name, desc string, static bool) (found *member, missing string) {
	if !static && len(desc) > 1 && desc[1] == ')' {
		return p.method(c, name, desc)
	}
	accept := func(n, d string, a classfile.Access) bool {
		return n == name && d == desc && a.Has(classfile.AccStatic) == static
	}
	for at := range p.upwards(c, &missing) {
		if m := declared(at, at.File.Methods, accept); m != nil {
			return m, ""
		}
	}
	return nil, missing
}

// harmless are the instructions that are pure with all operands: they read, compute, branch
// and return.
var harmless = func() (ok [256]bool) {
	set := func(from, to opcode.Op) {
		for op := from; op <= to; op++ {
			ok[op] = true
		}
	}
	set(opcode.Nop, opcode.Sipush)
	set(opcode.Iload, opcode.Saload) // with arrays read
	set(opcode.Istore, opcode.Astore)
	set(opcode.Pop, opcode.Goto) // stack, arithmetic, conversions, comparisons, branches
	set(opcode.Ireturn, opcode.Areturn)
	for _, op := range []opcode.Op{opcode.Getfield, opcode.Arraylength, opcode.Ifnull, opcode.Ifnonnull} {
		ok[op] = true
	}
	return ok
}()

// whatItDoes describes an instruction that is not harmless.
func whatItDoes(op opcode.Op) string {
	switch op {
	case opcode.Putfield, opcode.Putstatic:
		return "writes a field"
	case opcode.New, opcode.Newarray, opcode.Anewarray, opcode.Multianewarray:
		return "makes an object"
	case opcode.Monitorenter, opcode.Monitorexit:
		return "takes a lock"
	case opcode.Invokedynamic:
		return "uses invokedynamic"
	case opcode.Athrow:
		return "throws"
	}
	if op >= opcode.Iastore && op <= opcode.Sastore {
		return "writes to an array"
	}
	return "uses " + op.String()
}

// knownPure are methods of the JDK that are pure by specification though their bytecode does
// not prove it: they use intrinsics, loop over the characters of a string, or cache a hash.
// All of them are final or belong to final classes.
var knownPure = map[string]bool{
	"java/lang/String.length()I":                             true,
	"java/lang/String.isEmpty()Z":                            true,
	"java/lang/String.charAt(I)C":                            true,
	"java/lang/String.hashCode()I":                           true,
	"java/lang/String.equals(Ljava/lang/Object;)Z":           true,
	"java/lang/String.equalsIgnoreCase(Ljava/lang/String;)Z": true,
	"java/lang/String.compareTo(Ljava/lang/String;)I":        true,
	"java/lang/String.startsWith(Ljava/lang/String;)Z":       true,
	"java/lang/String.startsWith(Ljava/lang/String;I)Z":      true,
	"java/lang/String.endsWith(Ljava/lang/String;)Z":         true,
	"java/lang/String.indexOf(Ljava/lang/String;I)I":         true,
	"java/lang/String.toString()Ljava/lang/String;":          true,
	"java/lang/Enum.name()Ljava/lang/String;":                true,
	"java/lang/Enum.ordinal()I":                              true,
	"java/lang/Object.getClass()Ljava/lang/Class;":           true,
	"java/lang/Class.getName()Ljava/lang/String;":            true,
}

// pureByKnowledge reports whether a method is one of knownPure, or returns what a box holds.
func pureByKnowledge(class, name, desc string) bool {
	box, isBox := boxed[class]
	return knownPure[class+"."+name+desc] || isBox && name == box.method && desc == "()"+box.desc
}
