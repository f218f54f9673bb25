package calltree

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// A Class is one that is loaded.
type Class struct {
	Name   string // internal
	Loader uint32 // 0 is the boot loader
	File   []byte // nil where it is not known
	Reason string // why it cannot have hooks; "" where it can
	JDK    bool
}

// A World is the loaded classes of a JVM. What was read of them once is not read again.
type World struct {
	graph   *callgraph.Graph
	classes map[string]*class
	bodies  map[string][]*callgraph.Bodies
	reached map[callgraph.DirectCall]reached
	loaders map[uint32]*Loader
	// fileless are classes of the program whose files are not known; unreadable those
	// whose are no class files.
	fileless, unreadable int
}

// class is all classes of one name.
type class struct {
	loaders []uint32
	files   [][]byte
	reason  string
	jdk     bool
}

// A Loader is a class loader.
type Loader struct {
	Number  uint32
	Classes int
	Example string // internal name of one of its classes
}

// NewWorld mirrors classes. Their files must not change while it is in use.
func NewWorld(classes []Class) *World {
	w := &World{
		graph: callgraph.New(callgraph.Settings{Whole: true}), classes: make(map[string]*class, len(classes)),
		bodies: make(map[string][]*callgraph.Bodies), reached: make(map[callgraph.DirectCall]reached), loaders: make(map[uint32]*Loader),
	}
	// By name, so that what is found does not depend on the order of loading.
	classes = slices.Clone(classes)
	slices.SortStableFunc(classes, func(a, b Class) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Loader, b.Loader))
	})
	for _, c := range classes {
		w.add(c)
	}
	return w
}

func (w *World) add(c Class) {
	if c.File == nil && c.Reason != "" {
		return // one that the JVM made, for a lambda most often: what that calls is known by who made it
	}
	known := w.classes[c.Name]
	if known == nil {
		known = &class{reason: c.Reason, jdk: c.JDK}
		w.classes[c.Name] = known
	}
	if c.Reason == "" {
		known.reason = ""
	}
	known.loaders = append(known.loaders, c.Loader)
	w.count(c)
	if c.File == nil {
		if c.Loader != 0 { // else the JDK has made it, for its own method handles
			w.fileless++
		}
		return
	}
	if slices.ContainsFunc(known.files, func(file []byte) bool { return string(file) == string(c.File) }) {
		return
	}
	if _, err := w.graph.Add(c.File); err != nil {
		w.unreadable++
		return
	}
	known.files = append(known.files, c.File)
}

func (w *World) count(c Class) {
	l := w.loaders[c.Loader]
	if l == nil {
		l = &Loader{Number: c.Loader, Example: c.Name}
		w.loaders[c.Loader] = l
	}
	l.Classes++
}

// mostBodies bounds how many classes are kept taken apart. Those of one level are often
// asked for one after the other; a large one takes megabytes.
const mostBodies = 32

// calls returns what a method's body calls, in whichever of the classes of that name.
func (w *World) calls(m classfile.MethodRef) (all []callgraph.DirectCall) {
	bodies, known := w.bodies[m.Class]
	if !known {
		if len(w.bodies) >= mostBodies {
			clear(w.bodies)
		}
		if c := w.classes[m.Class]; c != nil {
			for _, file := range c.files {
				if b, err := w.graph.Bodies(file); err == nil { // as it was added, there is none
					bodies = append(bodies, b)
				}
			}
		}
		w.bodies[m.Class] = bodies
	}
	met := make(map[callgraph.DirectCall]bool)
	for _, b := range bodies {
		calls, err := b.Calls(m.Name, m.Descriptor)
		if err != nil {
			continue // likewise
		}
		for _, call := range calls {
			if !met[call] {
				met[call] = true
				all = append(all, call)
			}
		}
	}
	return all
}

// reached is what a call reaches: the first few of all, the program's own before the
// JDK's.
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
	if call.Kind != callgraph.Initializer { // those depend on who calls
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

// Loaders are those of all loaded classes, by number.
func (w *World) Loaders() (all []Loader) {
	for _, l := range w.loaders {
		all = append(all, *l)
	}
	slices.SortFunc(all, func(a, b Loader) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// A NoMethodError says that no method with code matches what was asked for.
type NoMethodError struct {
	Pattern string
	// Class is a loaded class that matches, with dots; "" where none does.
	Class string
	// Bodiless is a method that matches but has no code, being native or abstract.
	Bodiless string
	Native   bool
	// Near are classes, or methods of Class, that may have been meant.
	Near []string
}

func (e *NoMethodError) Error() string {
	switch {
	case e.Class == "" && slices.Contains(e.Near, e.Pattern):
		return fmt.Sprintf("%s is a class, and no method of it was named: %s.* is every method", e.Pattern, e.Pattern)
	case e.Class == "" && len(e.Near) > 0:
		return fmt.Sprintf("no loaded class matches %s; loaded is %s", e.Pattern, strings.Join(e.Near, ", "))
	case e.Class == "":
		return fmt.Sprintf("no loaded class matches %s: it may not have been used yet; sonde count waits for classes that load", e.Pattern)
	case e.Native:
		return fmt.Sprintf("%s is native, and has no code to look into: name a method with code", e.Bodiless)
	case e.Bodiless != "" && len(e.Near) > 0:
		return fmt.Sprintf("%s has no code to look into; methods that implement it are %s", e.Bodiless, strings.Join(e.Near, ", "))
	case e.Bodiless != "":
		return fmt.Sprintf("%s has no code to look into, and no loaded class implements it: name a method with code", e.Bodiless)
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
		missed.Class = dotted(name)
		declared := w.graph.Declared(name)
		for _, m := range declared {
			if pattern.Match(m.Class, m.Name, m.Descriptor) {
				nature, _ := w.graph.Nature(m)
				missed.Bodiless, missed.Native, missed.Near = dotted(m.Class)+"."+m.Name, nature.Native, w.implementers(m)
				return nil, missed
			}
		}
		if missed.Near = nearMethods(methodPart(pattern.String()), declared); len(missed.Near) > 0 {
			return nil, missed
		}
	}
	if missed.Class == "" {
		missed.Near = w.nearClasses(pattern.String())
	}
	return nil, missed
}

// implementers are methods with code that an abstract one may stand for.
func (w *World) implementers(m classfile.MethodRef) (near []string) {
	for _, name := range w.names() {
		if len(near) == mostNear {
			break
		}
		for _, own := range w.graph.FindIn(name, func(n, d string) bool { return n == m.Name && d == m.Descriptor }) {
			if w.graph.IsSubtype(name, m.Class) {
				near = append(near, dotted(own.Class)+"."+own.Name)
			}
		}
	}
	return near
}

func (w *World) names() []string {
	names := make([]string, 0, len(w.classes))
	for name := range w.classes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func methodPart(pattern string) string {
	pattern, _, _ = strings.Cut(pattern, "(")
	pattern, _, _ = strings.Cut(pattern, ":")
	return pattern[strings.LastIndexByte(pattern, '.')+1:]
}

// nearMethods are the names most like one; where none is like it, the first few.
func nearMethods(name string, declared []classfile.MethodRef) []string {
	var names []string
	for _, m := range declared {
		if !slices.Contains(names, m.Name) && m.Name != "<clinit>" {
			names = append(names, m.Name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return distance(name, a) - distance(name, b) })
	alike := slices.IndexFunc(names, func(other string) bool { return distance(name, other) > max(2, len(name)/3) })
	if alike <= 0 { // none is, or all are
		alike = len(names)
	}
	return names[:min(alike, mostNear)]
}

// nearClasses are loaded classes whose last name is one of the pattern's last two: the
// very last may be a method, or a class to which no method was added. The program's own
// come first.
func (w *World) nearClasses(pattern string) (near []string) {
	pattern, _, _ = strings.Cut(pattern, "(")
	pattern, _, _ = strings.Cut(pattern, ":")
	parts := strings.FieldsFunc(pattern, isSeparator)
	parts = slices.DeleteFunc(parts[max(0, len(parts)-2):], func(part string) bool { return strings.Contains(part, "*") })
	for _, ofJDK := range []bool{false, true} {
		for _, name := range w.names() {
			last := name[strings.LastIndexFunc(name, isSeparator)+1:]
			isNear := slices.ContainsFunc(parts, func(part string) bool { return strings.EqualFold(part, last) })
			if isNear && w.classes[name].jdk == ofJDK && len(near) < mostNear {
				near = append(near, dotted(name))
			}
		}
	}
	return near
}

func isSeparator(r rune) bool { return r == '.' || r == '$' || r == '/' }

func dotted(class string) string { return strings.ReplaceAll(class, "/", ".") }

// distance is how many letters must be put in, taken out or replaced to make one name
// of another; capitals count as small ones.
func distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := before
			if a[i] != b[j] {
				replaced++
			}
			before = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
