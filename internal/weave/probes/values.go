package probes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
)

// A Value is an expression that can be read at the entry of a method, without side effects.
type Value struct {
	Expr *expr.Expr
	Name string // for people, such as customer.tier
	// Few says that it has few different values: an enum, a boolean, a class, or a text whose name says so.
	Few bool
}

// Limits of Values.
const (
	// mostTried is how many expressions are checked, and mostMembers how many of one argument.
	mostTried   = 200
	mostMembers = 40
	// mostAbove is how many superclasses of an argument are looked at.
	mostAbove = 4
)

// The ranks of values: the first say most about a call.
const (
	rankEnum = iota
	rankClass
	rankBoolean
	rankText
	rankSize
	rankNumber
	rankLength
	rankOwn // added for fields of the object itself, which are often the same in all calls
)

// A candidate is a value that may turn out to be unreadable.
type candidate struct {
	text, name string
	rank       int
}

// Values returns what can be read of the arguments of a method: numbers, texts, enums and booleans, sizes, and such
// fields and pure getters of objects. The most informative ones come first. What sounds like a secret is left out.
func (p *Plan) Values(m universe.Method) (values []Value) {
	parsed, err := descriptor.ParseMethod(m.Descriptor)
	if err != nil {
		return nil
	}
	var found []candidate
	for i, t := range parsed.Params() {
		name := fmt.Sprintf("argument%d", i+1)
		if names := m.ParameterNames(i); len(names) > 1 { // the first is the type
			name = names[len(names)-1]
		}
		found = append(found, p.candidates(m.Owner, t, fmt.Sprintf("$%d", i+1), name)...)
	}
	if !m.Member.Access.Has(classfile.AccStatic) && m.Name != "<init>" {
		for _, c := range p.members(m.Owner, m.Owner, "$this", "this") {
			c.rank += rankOwn
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.rank, b.rank) })
	for _, c := range found[:min(len(found), mostTried)] {
		parsed, err := expr.Parse(c.text)
		if err != nil || p.secretIn(m, parsed, nil) != "" {
			continue
		}
		if _, err := condition.CheckValue(parsed, p.scope(m, condition.Entry, nil)); err == nil {
			isFew := c.rank%rankOwn <= rankBoolean || c.rank%rankOwn == rankText && isKind(c.name)
			values = append(values, Value{Expr: parsed, Name: c.name, Few: isFew})
		}
	}
	return values
}

// sized are types whose size conditions can read.
var sized = []string{"java/util/Collection", "java/util/List", "java/util/Set", "java/util/Map", "java/util/ArrayList", "java/util/HashMap", "java/util/HashSet"}

// candidates returns what may be read of a value of a type.
func (p *Plan) candidates(from *universe.Class, t descriptor.Type, text, name string) (found []candidate) {
	if rank, is := p.simple(from, t); is {
		found = append(found, candidate{text, name, rank})
		if rank == rankText {
			found = append(found, candidate{text + ".length", name + ".length", rankLength})
		}
		return found
	}
	switch {
	case t.Kind() == '[':
		return []candidate{{text + ".length", name + ".length", rankSize}}
	case slices.Contains(sized, t.ClassName()):
		return []candidate{{text + ".size()", name + ".size", rankSize}}
	}
	c := p.classes.Lookup(t.ClassName(), from)
	if c == nil || p.classes.IsJDK(c) {
		return nil
	}
	if file := p.classes.Open(c); file != nil && file.Access.Has(classfile.AccAbstract) {
		found = append(found, candidate{text + ".getClass().getName()", name + ".class", rankClass})
	}
	return append(found, p.members(c, from, text, name)...)
}

// members returns fields of an object, and getters that have no field of their name.
func (p *Plan) members(c, from *universe.Class, text, name string) (found []candidate) {
	met := make(map[string]bool)
	for range mostAbove {
		file := p.classes.Open(c)
		if file == nil || p.classes.IsJDK(c) || len(found) > mostMembers {
			break
		}
		for i := range file.Fields {
			f := &file.Fields[i]
			field, desc, err := file.MemberName(f)
			if err != nil || f.Access.Has(classfile.AccStatic) || f.Access.Has(classfile.AccSynthetic) || met[string(field)] {
				continue
			}
			typed, err := descriptor.ParseMethod("()" + string(desc)) // checks the descriptor, too
			if err != nil {
				continue
			}
			if rank, is := p.simple(from, typed.Return()); is {
				met[string(field)] = true
				found = append(found, candidate{text + "." + string(field), name + "." + string(field), rank})
			}
		}
		for i := range file.Methods {
			m := &file.Methods[i]
			method, desc, err := file.MemberName(m)
			if err != nil || m.Access.Has(classfile.AccStatic) || m.Access.Has(classfile.AccSynthetic) || m.Access.Has(classfile.AccPrivate) {
				continue
			}
			property := propertyOf(string(method))
			typed, err := descriptor.ParseMethod(string(desc))
			if err != nil || typed.NumParams() > 0 || met[property] || slices.Contains(notGetters, string(method)) {
				continue
			}
			if rank, is := p.simple(from, typed.Return()); is {
				met[property] = true
				found = append(found, candidate{text + "." + string(method) + "()", name + "." + property, rank})
			}
		}
		if c = p.classes.Lookup(file.SuperName(), c); c == nil {
			break
		}
	}
	return found[:min(len(found), mostMembers)]
}

// kinds are words in names of texts that have few different values.
var kinds = []string{"tenant", "type", "kind", "status", "state", "tier", "category", "region", "country", "currency", "channel", "role", "mode"}

// isKind reports whether a name ends with one of these words.
func isKind(name string) bool {
	all := words(name)
	return len(all) > 0 && slices.Contains(kinds, all[len(all)-1])
}

var notGetters = []string{"hashCode", "toString", "<init>", "clone"}

// propertyOf returns what a getter returns: tier for getTier.
func propertyOf(method string) string {
	for _, prefix := range []string{"get", "is"} {
		if rest, has := strings.CutPrefix(method, prefix); has && rest != "" && rest[0] >= 'A' && rest[0] <= 'Z' {
			return strings.ToLower(rest[:1]) + rest[1:]
		}
	}
	return method
}

// boxes are the classes of boxed numbers.
var boxes = []string{"java/lang/Byte", "java/lang/Short", "java/lang/Integer", "java/lang/Long", "java/lang/Float", "java/lang/Double", "java/lang/Character"}

// simple returns the rank of a type that has a text.
func (p *Plan) simple(from *universe.Class, t descriptor.Type) (rank int, is bool) {
	switch class := t.ClassName(); {
	case t.Kind() == 'V':
		return 0, false
	case t.Kind() == 'Z' || class == "java/lang/Boolean":
		return rankBoolean, true
	case t.Kind() != 'L' && t.Kind() != '[' || slices.Contains(boxes, class):
		return rankNumber, true
	case class == "java/lang/String":
		return rankText, true
	case t.Kind() == 'L':
		if c := p.classes.Lookup(class, from); c != nil {
			if file := p.classes.Open(c); file != nil && file.Access.Has(classfile.AccEnum) {
				return rankEnum, true
			}
		}
	}
	return 0, false
}
