package pattern

import (
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
)

// learned is what classes have shown to a pattern that selects methods by more than their names.
type learned struct {
	lock    sync.RWMutex
	methods map[classfile.MethodRef]bool
	classes map[string]bool // those of the methods
	// open are the methods without code that stand for their implementations: names and
	// descriptors, by class.
	open    map[string]map[string]bool
	doubted map[classfile.MethodRef]bool // methods that are selected until what is above their classes has loaded
	near    []string                     // similar names of annotations, calls and methods that do not match
}

func newLearned() *learned {
	return &learned{
		methods: make(map[classfile.MethodRef]bool), classes: make(map[string]bool),
		open: make(map[string]map[string]bool), doubted: make(map[classfile.MethodRef]bool),
	}
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
	isNew := !l.methods[m]
	l.methods[m], l.classes[m.Class] = true, true
	delete(l.doubted, m)
	return isNew
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

// remove reverses add. The class stays, since it may have other methods.
func (l *learned) remove(m classfile.MethodRef) {
	l.lock.Lock()
	defer l.lock.Unlock()
	delete(l.methods, m)
}

// doubt selects a method although it is not known yet whether it implements one without code.
func (l *learned) doubt(m classfile.MethodRef) {
	l.lock.Lock()
	defer l.lock.Unlock()
	isOpen := false
	for _, members := range l.open {
		isOpen = isOpen || members[m.Member()]
	}
	if isOpen && !l.methods[m] {
		l.methods[m], l.classes[m.Class], l.doubted[m] = true, true, true
	}
}

// settle ends all doubts about a class, before it is shown again.
func (l *learned) settle(class string) {
	l.lock.Lock()
	defer l.lock.Unlock()
	isDoubted := false
	for m := range l.doubted {
		if m.Class == class {
			isDoubted = true
			delete(l.methods, m)
			delete(l.doubted, m)
		}
	}
	if isDoubted {
		delete(l.classes, class)
		for m := range l.methods {
			l.classes[m.Class] = true
		}
	}
}

// Doubts reports whether the pattern matches a method only until what is above its class has loaded: a JVM
// begins with the class itself, which has to have its hooks then.
func (p *Pattern) Doubts(m classfile.MethodRef) bool {
	if p.learned == nil {
		return false
	}
	p.learned.lock.RLock()
	defer p.learned.lock.RUnlock()
	return p.learned.doubted[m] || p.called != nil && p.callers.Doubts(m)
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

// Learns reports whether what the pattern matches depends on the classes that LearnAll and LearnLoaded
// show to it.
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
// without wildcards in the class needs types as soon as its class has shown that the method has
// no code.
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

// resolve finds out whether the method that the pattern names has no code, if its class is
// known.
func (p *Pattern) resolve(types *universe.Types) {
	switch {
	case p.called != nil:
		p.callers.resolve(types)
	case p.learned == nil || p.annotation != nil || p.subtypes:
	default:
		for name := range p.classNames() {
			if class := types.Open(name); class != nil {
				p.learnOpen(show(class, types))
			}
		}
	}
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

// Named returns the methods that the pattern can name, without descriptors, if it names a class and a method without wildcards.
func (p *Pattern) Named() (methods []classfile.MethodRef) {
	for name := range p.classNames() {
		if p.IsByName() && !strings.Contains(name+p.method, "*") {
			methods = append(methods, classfile.MethodRef{Class: name, Name: p.method})
		}
	}
	return methods
}

// Names reports whether the pattern names a method in its class or, if isSubtype is not nil, in a class or interface above it.
func (p *Pattern) Names(m classfile.MethodRef, isSubtype func(class, super string) bool) bool {
	if p.class == nil || p.exclude || !p.MatchMethod(m.Name, m.Descriptor) {
		return false
	}
	if p.namesClass(m.Class) || isSubtype == nil {
		return p.namesClass(m.Class)
	}
	for name := range p.classNames() {
		if isSubtype(m.Class, name) {
			return true
		}
	}
	return false
}

// learn shows a class to the pattern. It reports whether the pattern may match more than before in other
// classes: then they have to be shown again.
func (p *Pattern) learn(s *shown) (more bool) {
	if p.learned == nil {
		return false
	}
	p.learned.settle(s.name)
	switch {
	case p.called != nil:
		more = p.callers.learn(s)
		p.learnCalls(s)
		return more
	case p.annotation != nil:
		more = p.learnAnnotated(s)
	case p.subtypes:
		if slices.ContainsFunc(s.above, p.namesClass) {
			for i := range s.methods() {
				if m := &s.methods()[i]; m.hasCode && p.MatchMethod(m.Name, m.Descriptor) {
					p.learned.add(m.MethodRef)
				}
			}
		}
	case p.namesClass(s.name):
		more = p.learnOpen(s)
		p.noteMethods(s)
	}
	if p.subtypes || p.learned.hasOpen() {
		p.learnLambdas(s)
		more = p.learnImplementations(s) || more
	}
	return more
}

// learnSupers shows a class whose file is not known. All that can be said is that it may have
// methods that the pattern matches.
func (p *Pattern) learnSupers(name string, supers []string, types *universe.Types) {
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

// learnOpen finds the methods without code of the class that the pattern names. If the class
// declares no method that matches, inherited methods count.
func (p *Pattern) learnOpen(s *shown) (more bool) {
	if !s.class.Access.Has(classfile.AccAbstract) {
		return false
	}
	isDeclared := false
	add := func(from *shown) {
		for i := range from.methods() {
			m := &from.methods()[i]
			if !p.MatchMethod(m.Name, m.Descriptor) {
				continue
			}
			isDeclared = true
			if m.member.Access.Has(classfile.AccAbstract) {
				more = p.learned.addOpen(s.name, m.key) || more
			}
		}
	}
	if add(s); isDeclared {
		return more
	}
	for _, above := range s.above[1:] {
		if opened := s.types.Open(above); opened != nil && above != object {
			add(show(opened, s.types))
		}
	}
	return more
}

// learnImplementations selects the methods of a class that implement methods without code.
func (p *Pattern) learnImplementations(s *shown) (more bool) {
	wanted := p.learned.openAbove(s.above[1:])
	if s.types.IsAwaited() {
		for i := range s.methods() {
			m := &s.methods()[i]
			if m.hasCode && !wanted[m.key] && !m.member.Access.Has(classfile.AccStatic) && !m.member.Access.Has(classfile.AccBridge) {
				p.learned.doubt(m.MethodRef)
			}
		}
	}
	if len(wanted) == 0 {
		return false
	}
	for i := range s.methods() {
		m := &s.methods()[i]
		if !wanted[m.key] || m.member.Access.Has(classfile.AccStatic) {
			continue
		}
		delete(wanted, m.key)
		switch {
		case !m.hasCode:
		case m.member.Access.Has(classfile.AccBridge):
			if called, ok := s.bridged(m); ok {
				isNew := p.learned.add(called)
				more = more || isNew && called.Class != s.name
			}
		default:
			p.learned.add(m.MethodRef)
		}
	}
	if s.class.Access.Has(classfile.AccInterface) {
		return more
	}
	for key := range wanted {
		more = p.learnInherited(s, key) || more
	}
	return more
}

// mostSupers bounds how many superclasses are looked through: files may be circular.
const mostSupers = 100

// learnInherited selects the method by which a superclass implements what a class promises.
func (p *Pattern) learnInherited(s *shown, key string) (more bool) {
	class := s.class
	for range mostSupers {
		super := class.SuperName()
		if super == "" || super == object {
			return false
		}
		if class = s.types.Open(super); class == nil {
			return false
		}
		name, descriptor, _ := strings.Cut(key, "(")
		found := class.Method(name, "("+descriptor)
		if found != nil && hasCode(class, found) && !found.Access.Has(classfile.AccStatic) {
			m := classfile.MethodRef{Class: super, Name: name, Descriptor: "(" + descriptor}
			return !found.Access.Has(classfile.AccBridge) && p.learned.add(m)
		}
	}
	return false
}

// learnLambdas selects the methods of a class that are the bodies of lambdas, or that method references
// of the same class name, if those implement a method that the pattern stands for. The JVM makes classes
// for them, which cannot have hooks.
func (p *Pattern) learnLambdas(s *shown) {
	for _, l := range s.lambdas() {
		above := s.types.Above(l.made)
		isMeant := p.learned.openAbove(above)[l.name+l.descriptor] ||
			p.subtypes && slices.ContainsFunc(above, p.namesClass) && p.MatchMethod(l.name, l.descriptor)
		if isMeant {
			p.learned.add(l.body)
		}
	}
}

// learnAnnotated selects the methods that carry the annotation, and all methods of a class that carries it.
func (p *Pattern) learnAnnotated(s *shown) (more bool) {
	isClass := slices.ContainsFunc(s.annotations(), p.isAnnotation)
	for i := range s.methods() {
		m := &s.methods()[i]
		isMade := m.member.Access.Has(classfile.AccSynthetic) || m.member.Access.Has(classfile.AccBridge)
		isSelected := isClass && !strings.HasPrefix(m.Name, "<") || slices.ContainsFunc(m.annotations, p.isAnnotation)
		switch {
		case isMade || !isSelected:
		case m.member.Access.Has(classfile.AccAbstract):
			more = p.learned.addOpen(s.name, m.key) || more
		case m.hasCode:
			p.learned.add(m.MethodRef)
		}
	}
	return more
}

// isAnnotation reports whether the pattern names an annotation. It notes similar names.
func (p *Pattern) isAnnotation(name string) bool {
	if matchName(p.annotation, name) {
		return true
	}
	if isSimilar(simpleName(name), p.annotation[len(p.annotation)-1].glob) {
		p.learned.noteNear(name)
	}
	return false
}

// noteNear keeps the name of something that does not match but is similar to what is looked for.
func (l *learned) noteNear(name string) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if name = strings.ReplaceAll(name, "/", "."); len(l.near) < mostNear && !slices.Contains(l.near, name) {
		l.near = append(l.near, name)
	}
}

// noteMethods notes the methods of the class that the pattern names whose names are similar to that of the
// method, if none has that name.
func (p *Pattern) noteMethods(s *shown) {
	isNamed := func(m shownMethod) bool { return matchGlob(p.method, m.Name) }
	if slices.ContainsFunc(s.methods(), isNamed) {
		return
	}
	for _, m := range s.methods() {
		if isSimilar(m.Name, p.method) {
			p.learned.noteNear(m.QualifiedName())
		}
	}
}

// learnCalls selects the methods that contain a call. The class in a call may be a subtype of the one that has
// the method.
func (p *Pattern) learnCalls(s *shown) {
	called := p.called
	wanted := make(map[uint16]bool)
	for i := range s.references() {
		r := &s.references()[i]
		if !called.MatchMethod(r.Name, r.Descriptor) {
			continue
		}
		switch {
		case called.namesClass(r.Class),
			called.learned != nil && slices.ContainsFunc(s.types.Above(r.Class), called.namesClass): // it names one class
			wanted[r.index] = true
		case isSimilar(simpleName(r.Class), called.class[len(called.class)-1].glob):
			p.learned.noteNear(r.Class + "." + r.Name)
		}
	}
	if len(wanted) == 0 {
		return
	}
	for i := range s.methods() {
		m := &s.methods()[i]
		if !m.hasCode || !p.callers.Match(m.MethodRef) {
			p.learned.remove(m.MethodRef) // the callers may have doubted it
			continue
		}
		for index := range callsOf(s.class, m.member) {
			if wanted[index] {
				p.learned.add(m.MethodRef)
				break
			}
		}
	}
}

// ResolveAll finds out which methods that patterns name have no code, as far as their classes are in a universe
// or its library.
func ResolveAll(u *universe.Universe, patterns []*Pattern) {
	types := u.Types(&universe.Class{})
	for _, p := range patterns {
		p.resolve(types)
	}
}

// mostRounds bounds how often all classes are shown to patterns.
const mostRounds = 5

// LearnAll shows the classes of a universe to patterns. From then on, Match and MatchClass answer for these
// classes. Only classes are opened on which a pattern depends.
func LearnAll(u *universe.Universe, patterns []*Pattern) {
	if !slices.ContainsFunc(patterns, (*Pattern).Learns) {
		return
	}
	ResolveAll(u, patterns)
	for range mostRounds {
		more := false
		for class := range u.All() {
			more = learnClass(u, class, patterns) || more
		}
		if !more {
			return
		}
	}
}

// LearnLoaded shows a class that has just loaded to patterns. It returns other classes in which they may match
// more than before: those below it, which were shown before all their supertypes were known, or all.
func LearnLoaded(u *universe.Universe, class *universe.Class, patterns []*Pattern) (others iter.Seq[*universe.Class]) {
	more := learnClass(u, class, patterns)
	var below []*universe.Class
	if slices.ContainsFunc(patterns, (*Pattern).NeedsTypes) {
		below, _ = u.Subtypes(class.Name)
	}
	for _, c := range below {
		more = learnClass(u, c, patterns) || more
	}
	if more {
		LearnAll(u, patterns)
		return u.All()
	}
	return slices.Values(below)
}

// learnClass shows a class to patterns, and reports whether they may match more than before in others.
func learnClass(u *universe.Universe, class *universe.Class, patterns []*Pattern) (more bool) {
	reads := func(p *Pattern) bool { return p.Learns() && p.ReadsClass(class.Name) }
	if !slices.ContainsFunc(patterns, reads) {
		return false
	}
	types, opened := u.Types(class), u.Open(class)
	if opened == nil {
		for _, p := range patterns {
			p.learnSupers(class.Name, class.Supers, types)
		}
		return false
	}
	s := show(opened, types)
	for _, p := range patterns {
		more = p.learn(s) || more
	}
	return more
}
