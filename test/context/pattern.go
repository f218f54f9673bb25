package context

import "strings"

// pattern names methods: a class's name and a method's, each with at most one "*". It
// is a matcher of its own, so that Sonde's is not judged by itself.
type pattern struct{ class, method string }

func (p pattern) String() string { return p.class + "." + p.method }

func (p pattern) matches(m *method) bool { return glob(p.class, m.class) && glob(p.method, m.name) }

func glob(pattern, name string) bool {
	before, after, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	return len(name) >= len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
}

// method is one of the program's, with the number that its log has for it.
type method struct {
	number      int
	class, name string // as patterns have them: app.C3, lambda$s70$*, <init>
	kind        kind
}

func (m *method) String() string { return m.class + "." + m.name }

func (m *method) isConstructor() bool { return m.kind == constructor }

// hasArguments reports whether it has the four that the program's methods have.
func (m *method) hasArguments() bool { return m.kind != lambda && m.kind != compute }

// hasWeight reports whether it is one of an object that has a weight by then.
func (m *method) hasWeight() bool {
	return m.hasArguments() && m.kind != static && m.kind != constructor && strings.HasPrefix(m.class, appPackage+"C")
}
