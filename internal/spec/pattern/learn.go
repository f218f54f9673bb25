package pattern

import (
	"encoding/binary"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
)

// Types is what patterns have to know about other classes than the one they are shown.
type Types interface {
	// Above returns the internal names of a class and of all its superclasses and interfaces,
	// as far as they are known. The class itself is the first.
	Above(class string) []string
	// Open returns a class by its internal name; nil if it is not known.
	Open(class string) *classfile.Class
}

// learned is what classes have shown to a pattern that selects methods by more than their names.
type learned struct {
	lock    sync.RWMutex
	methods map[classfile.MethodRef]bool
	classes map[string]bool // those of the methods
	// open are the methods without code that stand for their implementations: names and
	// descriptors, by class.
	open map[string]map[string]bool
	near []string // annotations and calls with similar names that do not match
}

func newLearned() *learned {
	return &learned{methods: make(map[classfile.MethodRef]bool), classes: make(map[string]bool), open: make(map[string]map[string]bool)}
}

func (l *learned) hasMethod(m classfile.MethodRef) bool {
	l.lock.RLock()
	defer l.lock.RUnlock()
	return l.methods[m]
}

func (l *learned) hasClass(class string) bool {
	l.lock.RLock()
	defer l.lock.RUnlock()
	return l.classes[class]
}

func (l *learned) hasOpen() bool {
	l.lock.RLock()
	defer l.lock.RUnlock()
	return len(l.open) > 0
}

// add selects a method, and reports whether that is new.
func (l *learned) add(m classfile.MethodRef) bool {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.methods[m] {
		return false
	}
	l.methods[m], l.classes[m.Class] = true, true
	return true
}

// addOpen adds a method without code, and reports whether it is new.
func (l *learned) addOpen(class, member string) bool {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.open[class] == nil {
		l.open[class] = make(map[string]bool)
	}
	isNew := !l.open[class][member]
	l.open[class][member] = true
	return isNew
}

// openAbove returns the methods without code of some classes.
func (l *learned) openAbove(above []string) (members map[string]bool) {
	l.lock.RLock()
	defer l.lock.RUnlock()
	for _, class := range above {
		for member := range l.open[class] {
			if members == nil {
				members = make(map[string]bool)
			}
			members[member] = true
		}
	}
	return members
}

// Learns reports whether what the pattern matches depends on what Learn shows to it.
func (p *Pattern) Learns() bool { return p.learned != nil }

// MayNeedTypes reports whether the pattern needs types, or names a class without wildcards, so that
// it needs them if the class has no code for the method.
func (p *Pattern) MayNeedTypes() bool {
	if p.called != nil {
		return p.callers.MayNeedTypes()
	}
	return p.Learns()
}

// NeedsTypes reports whether the pattern selects methods by the types of their classes or by
// annotations, so that it can match methods of every class. A pattern that names a method
// without wildcards in the class needs types as soon as Resolve or Learn has found that the
// method has no code.
func (p *Pattern) NeedsTypes() bool {
	switch {
	case p.called != nil:
		return p.callers.NeedsTypes()
	case p.learned == nil:
		return false
	}
	return p.annotation != nil || p.subtypes || p.learned.hasOpen()
}

// ReadsClass reports whether a class has to be read to know what the pattern matches in it.
func (p *Pattern) ReadsClass(internalName string) bool {
	if p.called != nil {
		return p.callers.ReadsClass(internalName)
	}
	return p.NeedsTypes() || p.namesClass(internalName)
}

// IsByName reports whether the pattern selects methods by nothing but names.
func (p *Pattern) IsByName() bool { return p.called == nil && !p.NeedsTypes() }

// IsMet reports whether a class was shown that has a method which the pattern selects by more than names.
func (p *Pattern) IsMet() bool {
	if p.learned == nil {
		return false
	}
	p.learned.lock.RLock()
	defer p.learned.lock.RUnlock()
	return len(p.learned.classes) > 0
}

// Lack says what there is none of if a pattern that selects methods by more than names matches nothing.
func (p *Pattern) Lack() string {
	text := strings.TrimPrefix(p.text, "!")
	switch {
	case p.called != nil:
		return "no method of a loaded class that matches " + p.callers.text + " calls " + p.called.text
	case p.annotation != nil:
		return "no method or class that is loaded carries " + text
	case p.subtypes:
		return "no loaded class has a method that matches " + text
	}
	return "no loaded class implements " + text
}

// Resolve finds out whether the method that the pattern names has no code, if its class is
// known. It reports whether that is new.
func (p *Pattern) Resolve(types Types) (more bool) {
	if p.called != nil {
		return p.callers.Resolve(types)
	}
	if p.learned == nil || p.annotation != nil || p.subtypes {
		return false
	}
	for name := range p.classNames() {
		if class := types.Open(name); class != nil {
			return p.learnOpen(class, types)
		}
	}
	return false
}

// IsKnown reports whether the class that the pattern names is in a universe or its library.
func (p *Pattern) IsKnown(u *universe.Universe) bool {
	types := u.Types(&universe.Class{})
	for name := range p.classNames() {
		if len(u.Named(name)) > 0 || types.Open(name) != nil {
			return true
		}
	}
	return false
}

// classNames yields the internal names that a class can have which is named without wildcards:
// a.B.C may be nested in B.
func (p *Pattern) classNames() iter.Seq[string] {
	names := make([]string, len(p.class))
	for i := range p.class {
		names[i] = p.class[i].glob
	}
	return func(yield func(string) bool) {
		for outer := len(names); outer > 0; outer-- {
			name := strings.Join(names[:outer], "/")
			if outer < len(names) {
				name += "$" + strings.Join(names[outer:], "$")
			}
			if p.namesClass(name) && !yield(name) {
				return
			}
		}
	}
}

// Learn shows a class to the pattern. Match and MatchClass answer for the classes that were
// shown. It reports whether the pattern may match more than before in other classes: then they
// have to be shown again.
func (p *Pattern) Learn(class *classfile.Class, types Types) (more bool) {
	if p.learned == nil {
		return false
	}
	name := class.Name()
	switch {
	case p.called != nil:
		more = p.callers.Learn(class, types)
		p.learnCalls(class, types)
		return more
	case p.annotation != nil:
		more = p.learnAnnotated(class)
	case p.subtypes:
		if slices.ContainsFunc(types.Above(name), p.namesClass) {
			for m, member := range methodsOf(class) {
				if p.MatchMethod(m.Name, m.Descriptor) && hasCode(class, member) {
					p.learned.add(m)
				}
			}
		}
		return false
	case p.namesClass(name):
		more = p.learnOpen(class, types)
	}
	return p.learnImplementations(class, types) || more
}

// LearnSupers shows a class whose file is not known. All that can be said is that it may have
// methods that the pattern matches.
func (p *Pattern) LearnSupers(name string, supers []string, types Types) {
	if p.called != nil || p.learned == nil {
		return
	}
	for _, super := range supers {
		above := types.Above(super)
		if p.subtypes && slices.ContainsFunc(above, p.namesClass) || len(p.learned.openAbove(above)) > 0 {
			p.learned.lock.Lock()
			p.learned.classes[name] = true
			p.learned.lock.Unlock()
			return
		}
	}
}

// methodsOf yields the methods of a class.
func methodsOf(class *classfile.Class) iter.Seq2[classfile.MethodRef, *classfile.Member] {
	return func(yield func(classfile.MethodRef, *classfile.Member) bool) {
		own := class.Name()
		for i := range class.Methods {
			member := &class.Methods[i]
			name, descriptor, err := class.MemberName(member)
			if err != nil {
				continue // the JVM does not load it
			}
			if !yield(classfile.MethodRef{Class: own, Name: string(name), Descriptor: string(descriptor)}, member) {
				return
			}
		}
	}
}

func hasCode(class *classfile.Class, member *classfile.Member) bool {
	return class.Find(member.Attributes, classfile.KindCode) != nil
}

const object = "java/lang/Object"

// learnOpen finds the methods without code of the class that the pattern names. If the class
// declares no method that matches, those that it inherits count.
func (p *Pattern) learnOpen(class *classfile.Class, types Types) (more bool) {
	name := class.Name()
	if !class.Access.Has(classfile.AccAbstract) {
		return false
	}
	isDeclared := false
	add := func(class *classfile.Class) {
		for m, member := range methodsOf(class) {
			if !p.MatchMethod(m.Name, m.Descriptor) {
				continue
			}
			isDeclared = true
			if member.Access.Has(classfile.AccAbstract) {
				more = p.learned.addOpen(name, m.Member()) || more
			}
		}
	}
	if add(class); isDeclared {
		return more
	}
	for _, above := range types.Above(name) {
		if above == name || above == object {
			continue
		}
		if parsed := types.Open(above); parsed != nil {
			add(parsed)
		}
	}
	return more
}

// learnImplementations selects the methods of a class that implement methods without code.
func (p *Pattern) learnImplementations(class *classfile.Class, types Types) (more bool) {
	if !p.learned.hasOpen() {
		return false
	}
	name := class.Name()
	above := types.Above(name)
	wanted := p.learned.openAbove(slices.DeleteFunc(slices.Clone(above), func(other string) bool { return other == name }))
	if len(wanted) == 0 {
		return false
	}
	for m, member := range methodsOf(class) {
		if !wanted[m.Member()] || member.Access.Has(classfile.AccStatic) {
			continue
		}
		delete(wanted, m.Member())
		switch {
		case !hasCode(class, member):
		case member.Access.Has(classfile.AccBridge):
			if called, ok := bridged(class, member, m.Name); ok {
				isNew := p.learned.add(called)
				more = more || isNew && called.Class != name
			}
		default:
			p.learned.add(m)
		}
	}
	if class.Access.Has(classfile.AccInterface) {
		return more
	}
	for member := range wanted {
		more = p.learnInherited(class, member, types) || more
	}
	return more
}

// mostSupers bounds how many superclasses are looked through: files may be circular.
const mostSupers = 100

// learnInherited selects the method by which a superclass implements what a class promises.
func (p *Pattern) learnInherited(class *classfile.Class, member string, types Types) (more bool) {
	for range mostSupers {
		super := class.SuperName()
		if super == "" || super == object {
			return false
		}
		if class = types.Open(super); class == nil {
			return false
		}
		for m, found := range methodsOf(class) {
			if m.Member() == member && hasCode(class, found) && !found.Access.Has(classfile.AccStatic) {
				return !found.Access.Has(classfile.AccBridge) && p.learned.add(m)
			}
		}
	}
	return false
}

// bridged returns the method of the same name that a bridge calls.
func bridged(class *classfile.Class, member *classfile.Member, name string) (called classfile.MethodRef, ok bool) {
	for index := range callsOf(class, member) {
		owner, method, descriptor, err := class.Pool.Member(index)
		if err == nil && string(method) == name {
			return classfile.MethodRef{Class: string(owner), Name: name, Descriptor: string(descriptor)}, true
		}
	}
	return called, false
}

// learnAnnotated selects the methods that carry the annotation, and those of a class that carries it.
func (p *Pattern) learnAnnotated(class *classfile.Class) (more bool) {
	isClass := p.isAnnotated(class, class.Attributes)
	for m, member := range methodsOf(class) {
		isMade := member.Access.Has(classfile.AccSynthetic) || member.Access.Has(classfile.AccBridge)
		isPlain := !isMade && !strings.HasPrefix(m.Name, "<")
		switch {
		case isMade, !(isClass && isPlain) && !p.isAnnotated(class, member.Attributes):
		case member.Access.Has(classfile.AccAbstract):
			more = p.learned.addOpen(m.Class, m.Member()) || more
		case hasCode(class, member):
			p.learned.add(m)
		}
	}
	return more
}

// noteNear keeps the name of something that does not match but is similar to what is looked for.
func (l *learned) noteNear(name string) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if name = strings.ReplaceAll(name, "/", "."); len(l.near) < MostNear && !slices.Contains(l.near, name) {
		l.near = append(l.near, name)
	}
}

func (p *Pattern) isAnnotated(class *classfile.Class, attributes []classfile.Attribute) bool {
	for _, kind := range []classfile.Kind{classfile.KindRuntimeVisibleAnnotations, classfile.KindRuntimeInvisibleAnnotations} {
		attribute := class.Find(attributes, kind)
		if attribute == nil {
			continue
		}
		contents, err := class.Decode(*attribute)
		list, is := contents.(classfile.Annotations)
		if err != nil || !is {
			continue
		}
		for i := range list {
			descriptor, err := class.Pool.Utf8(list[i].Type)
			if err != nil || len(descriptor) < 3 || descriptor[0] != 'L' {
				continue
			}
			name := string(descriptor[1 : len(descriptor)-1])
			if matchName(p.annotation, name) {
				return true
			}
			if isSimilar(simpleName(name), p.annotation[len(p.annotation)-1].glob) {
				p.learned.noteNear(name)
			}
		}
	}
	return false
}

// learnCalls selects the methods that contain a call.
func (p *Pattern) learnCalls(class *classfile.Class, types Types) {
	wanted := p.called.entries(class, types, p.learned)
	if len(wanted) == 0 {
		return
	}
	for m, member := range methodsOf(class) {
		if !p.callers.Match(m) {
			continue
		}
		for index := range callsOf(class, member) {
			if wanted[index] {
				p.learned.add(m)
				break
			}
		}
	}
}

// entries returns the entries of a constant pool that refer to methods which the pattern names.
// The class in a reference may be a subtype of the one that has the method. Similar references that
// the pattern does not name are noted in near.
func (p *Pattern) entries(class *classfile.Class, types Types, near *learned) map[uint16]bool {
	found := make(map[uint16]bool)
	for i := range class.Pool.Len() {
		index := uint16(i)
		if tag := class.Pool.Tag(index); tag != classfile.TagMethodref && tag != classfile.TagInterfaceMethodref {
			continue
		}
		owner, name, descriptor, err := class.Pool.Member(index)
		if err != nil || !matchGlob(p.method, string(name)) || !p.MatchMethod(string(name), string(descriptor)) {
			continue
		}
		isNamed := p.namesClass(string(owner))
		if !isNamed && p.learned != nil { // it names one class
			isNamed = slices.ContainsFunc(types.Above(string(owner)), p.namesClass)
		}
		if isNamed {
			found[index] = true
		} else if isSimilar(simpleName(string(owner)), p.class[len(p.class)-1].glob) {
			near.noteNear(string(owner) + "." + string(name))
		}
	}
	return found
}

// callsOf yields the constant pool indexes of the methods that a method calls.
func callsOf(class *classfile.Class, member *classfile.Member) iter.Seq[uint16] {
	return func(yield func(uint16) bool) {
		code, err := class.Code(member.Attributes)
		if err != nil || code == nil {
			return
		}
		for at := 0; at < len(code.Bytes); {
			length := opcode.LengthAt(code.Bytes, at)
			if length == 0 || length > len(code.Bytes)-at {
				return
			}
			if op := opcode.Op(code.Bytes[at]); op >= opcode.Invokevirtual && op <= opcode.Invokeinterface {
				if !yield(binary.BigEndian.Uint16(code.Bytes[at+1:])) {
					return
				}
			}
			at += length
		}
	}
}

// ResolveAll resolves patterns with the classes of a universe and of its library.
func ResolveAll(u *universe.Universe, patterns []*Pattern) {
	types := u.Types(&universe.Class{})
	for _, p := range patterns {
		p.Resolve(types)
	}
}

// mostRounds bounds how often all classes are shown to patterns.
const mostRounds = 5

// LearnAll shows the classes of a universe to patterns. Only classes are opened on which a pattern depends.
func LearnAll(u *universe.Universe, patterns []*Pattern) {
	if !slices.ContainsFunc(patterns, (*Pattern).Learns) {
		return
	}
	ResolveAll(u, patterns)
	for range mostRounds {
		more := false
		for class := range u.All() {
			more = LearnClass(u, class, patterns) || more
		}
		if !more {
			return
		}
	}
}

// LearnLoaded is LearnClass for a class that has just loaded. If others below it are known, these have
// been shown before all their supertypes were known.
func LearnLoaded(u *universe.Universe, class *universe.Class, patterns []*Pattern) (more bool) {
	more = LearnClass(u, class, patterns)
	if !more && slices.ContainsFunc(patterns, (*Pattern).NeedsTypes) {
		below, _ := u.Subtypes(class.Name)
		more = len(below) > 0
	}
	return more
}

// LearnClass shows a class of a universe to patterns. It reports whether they may match more than
// before in other classes: then these have to be shown again.
func LearnClass(u *universe.Universe, class *universe.Class, patterns []*Pattern) (more bool) {
	reads := func(p *Pattern) bool { return p.Learns() && p.ReadsClass(class.Name) }
	if !slices.ContainsFunc(patterns, reads) {
		return false
	}
	types, opened := u.Types(class), u.Open(class)
	for _, p := range patterns {
		if opened != nil {
			more = p.Learn(opened, types) || more
		} else {
			p.LearnSupers(class.Name, class.Supers, types)
		}
	}
	return more
}
