package calltree

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// A World is a universe of loaded classes with the calls in their methods.
type World struct {
	universe *universe.Universe
	graph    *callgraph.Graph
	classes  map[string]*class
	reached  map[callgraph.DirectCall]reached
	fileless int // classes of the program whose files are not known or cannot be read
}

// class is all classes of one name.
type class struct {
	loaders []uint32
	reason  string // why none of them can have hooks
	jdk     bool
}

// A Loader is a class loader.
type Loader struct {
	Number  uint32
	Classes int
	Example string // internal name of one of its classes
}

// NewWorld reads the classes of a universe. Classes that the universe gets later are not
// part of it.
func NewWorld(u *universe.Universe) *World {
	w := &World{
		universe: u, graph: callgraph.New(callgraph.Settings{Whole: true, Bodies: true}),
		classes: make(map[string]*class), reached: make(map[callgraph.DirectCall]reached),
	}
	for c := range u.All() {
		w.add(c)
	}
	return w
}

// addProxies lets calls of proxies whose files are not known reach everything that may decide about them.
func (w *World) addProxies() {
	for c := range w.universe.All() {
		if w.universe.File(c) == nil && w.graph.AddProxy(c.Name, c.Supers) && c.Loader != 0 {
			w.fileless--
		}
	}
}

func (w *World) add(c *universe.Class) {
	file := w.universe.File(c)
	if file == nil && c.Reason != "" {
		return // made by the JVM, mostly for a lambda: who made it shows what it calls
	}
	known := w.classes[c.Name]
	if known == nil {
		known = &class{reason: c.Reason, jdk: w.universe.IsJDK(c)}
		w.classes[c.Name] = known
	}
	if c.Reason == "" {
		known.reason = ""
	}
	known.loaders = append(known.loaders, uint32(max(c.Loader, 0)))
	if file == nil {
		if c.Loader != 0 { // otherwise the JDK has made it, for its own method handles
			w.fileless++
		}
	} else if _, err := w.graph.Add(file); err != nil {
		w.fileless++
	}
}

// reached is what a call reaches: the first few methods, the program's own before the
// JDK's, and how many there are.
type reached struct {
	first []callgraph.Target
	all   int
}

func (w *World) targets(call callgraph.DirectCall, caller classfile.MethodRef, most int) reached {
	known, is := w.reached[call]
	if is {
		return known
	}
	all := w.graph.Targets(call, caller)
	slices.SortStableFunc(all, func(a, b callgraph.Target) int { return cmp.Compare(w.rank(a), w.rank(b)) })
	r := reached{first: slices.Clone(all[:min(most, len(all))]), all: len(all)}
	if call.Kind != callgraph.Initializer { // which initializers run depends on the caller
		w.reached[call] = r
	}
	return r
}

func (w *World) rank(t callgraph.Target) int {
	if c := w.classes[t.Class]; c != nil && c.jdk {
		return 1
	}
	return 0
}

// Loaders returns the loaders of all classes, by number.
func (w *World) Loaders() []Loader {
	found := make(map[uint32]Loader)
	for _, name := range w.names() {
		for _, number := range w.classes[name].loaders {
			found[number] = Loader{number, found[number].Classes + 1, cmp.Or(found[number].Example, name)}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Loader) int { return cmp.Compare(a.Number, b.Number) })
}

// A NoMethodError reports that no method with code matches a pattern.
type NoMethodError struct {
	Pattern string
	// Class is a loaded class that matches, with dots; "" where none does.
	Class string
	// Bodiless is a method that matches but has no code, being native or abstract.
	Bodiless string
	Native   bool
	// Lack says what no loaded class has, if methods are selected by more than names.
	Lack string
	// Near are classes, or methods of Class, that may have been meant.
	Near []string
}

func (e *NoMethodError) Error() string {
	switch {
	case e.Lack != "" && len(e.Near) > 0:
		return fmt.Sprintf("%s; similar: %s", e.Lack, strings.Join(e.Near, ", "))
	case e.Lack != "":
		return e.Lack
	case e.Class == "" && slices.Contains(e.Near, e.Pattern):
		return fmt.Sprintf("%s is a class, not a method: %s.* matches all its methods", e.Pattern, e.Pattern)
	case e.Class == "" && len(e.Near) > 0:
		return fmt.Sprintf("no loaded class matches %s; similar loaded classes are %s", e.Pattern, strings.Join(e.Near, ", "))
	case e.Class == "":
		return fmt.Sprintf("no loaded class matches %s: it may not have been used yet; sonde count waits for classes that load", e.Pattern)
	case e.Native:
		return fmt.Sprintf("%s is native and has no bytecode: name a method with bytecode", e.Bodiless)
	case e.Bodiless != "":
		return fmt.Sprintf("%s has no bytecode, and no loaded class implements it: name a method that has bytecode", e.Bodiless)
	case len(e.Near) > 0:
		return fmt.Sprintf("%s matches %s, but no method of it; it has %s", e.Pattern, e.Class, strings.Join(e.Near, ", "))
	}
	return fmt.Sprintf("%s matches %s, which has no method with code: name another class", e.Pattern, e.Class)
}

// mostNear bounds how many names are suggested.
const mostNear = 4

// Find returns the methods with code that a set holds. Where there is none the error is
// a *NoMethodError.
func (w *World) Find(set *pattern.Set) ([]classfile.MethodRef, error) {
	pattern.LearnAll(w.universe, set.Patterns())
	found := w.graph.Find(set.Match)
	if len(found) > 0 {
		return found, nil
	}
	pattern := set.Includes()[0]
	missed := &NoMethodError{Pattern: pattern.String()}
	for _, name := range w.names() {
		if !pattern.MatchClass(name) {
			continue
		}
		missed.Class = descriptor.ExternalName(name)
		declared := w.graph.Declared(name)
		for _, m := range declared {
			if pattern.Match(m) {
				nature, _ := w.graph.Nature(m)
				missed.Bodiless, missed.Native = descriptor.ExternalName(m.Class)+"."+m.Name, nature.Native
				return nil, missed
			}
		}
		if missed.Near = nearMethods(methodPart(pattern.String()), declared); len(missed.Near) > 0 {
			return nil, missed
		}
	}
	if missed.Class == "" {
		missed.Near = w.nearClasses(pattern)
		if !pattern.IsByName() {
			missed.Lack = pattern.Lack()
		}
	}
	return nil, missed
}

func (w *World) names() []string {
	return slices.Sorted(maps.Keys(w.classes))
}

func methodPart(pattern string) string {
	pattern, _, _ = strings.Cut(pattern, "(")
	pattern, _, _ = strings.Cut(pattern, ":")
	return pattern[strings.LastIndexByte(pattern, '.')+1:]
}

// nearMethods returns the names most similar to one; if none is similar, the first few.
func nearMethods(name string, declared []classfile.MethodRef) []string {
	var names []string
	for _, m := range declared {
		if !slices.Contains(names, m.Name) && m.Name != "<clinit>" {
			names = append(names, m.Name)
		}
	}
	distance := func(other string) int { return pattern.Distance(strings.ToLower(name), strings.ToLower(other)) }
	slices.SortStableFunc(names, func(a, b string) int { return distance(a) - distance(b) })
	alike := slices.IndexFunc(names, func(other string) bool { return distance(other) > max(2, len(name)/3) })
	if alike <= 0 { // none is similar, or all are
		alike = len(names)
	}
	return names[:min(alike, mostNear)]
}

// nearClasses returns classes that a pattern may have meant: the program's own or, if there is none, the JDK's.
func (w *World) nearClasses(pattern *pattern.Pattern) (near []string) {
	for _, ofJDK := range []bool{false, true} {
		isOther := func(name string) bool { return w.classes[name].jdk != ofJDK }
		if near = pattern.Near(slices.Values(slices.DeleteFunc(w.names(), isOther))); len(near) > 0 {
			return near
		}
	}
	return nil
}
