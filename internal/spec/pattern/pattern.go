package pattern

import (
	"github.com/sonde-jvm/sonde/classfile/descriptor"
)

// Pattern picks methods by class, name, parameters and result. It is immutable
// and matching allocates nothing.
type Pattern struct {
	text    string
	exclude bool
	class   []segment
	method  string // a glob

	hasParams bool
	params    []typePattern
	rest      bool         // the parameter list ends in ".."
	result    *typePattern // nil: any
}

// String is the pattern as it was written, blanks removed.
func (p *Pattern) String() string { return p.text }

// Excludes reports whether the pattern was written with a leading "!".
func (p *Pattern) Excludes() bool { return p.exclude }

// MatchClass reports whether the pattern can match a method of the class with
// this internal name, such as com/acme/Order$Item.
func (p *Pattern) MatchClass(internalName string) bool {
	return matchName(p.class, internalName)
}

// MatchMethod reports whether the pattern matches a method of this name and
// descriptor, whatever its class.
func (p *Pattern) MatchMethod(name, desc string) bool {
	if !matchGlob(p.method, name) {
		return false
	}
	if !p.hasParams && p.result == nil {
		return true
	}
	m, err := descriptor.ParseMethod(desc)
	if err != nil {
		return false
	}
	if p.result != nil && !p.result.match(m.Return()) {
		return false
	}
	return !p.hasParams || p.matchParams(m)
}

// Match reports whether the pattern matches a method of a class.
func (p *Pattern) Match(internalName, name, desc string) bool {
	return p.MatchClass(internalName) && p.MatchMethod(name, desc)
}

// anyMethod reports whether the pattern leaves no method of a class out.
func (p *Pattern) anyMethod() bool {
	return matchesAll(p.method) && p.result == nil && (!p.hasParams || p.rest && len(p.params) == 0)
}

func (p *Pattern) matchParams(m descriptor.Method) bool {
	n := 0
	for i, t := range m.Params() {
		if i == len(p.params) {
			return p.rest
		}
		if !p.params[i].match(t) {
			return false
		}
		n++
	}
	return n == len(p.params)
}

// typePattern matches one type. Exactly one of any, primitive and class says
// what the element type must be.
type typePattern struct {
	any       bool
	primitive byte // its letter in descriptors, 'V' for void
	class     []segment
	dims      int
}

func (tp *typePattern) match(t descriptor.Type) bool {
	dims := t.Dimensions()
	if tp.any {
		return dims >= tp.dims
	}
	if dims != tp.dims {
		return false
	}
	t = t[dims:]
	if tp.primitive != 0 {
		return t.Kind() == tp.primitive
	}
	return t.Kind() == 'L' && matchName(tp.class, t.ClassName())
}
