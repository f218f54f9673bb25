package descriptor

import "strings"

// ExternalName turns the internal name of a class, a/b/C, into the one
// programmers use, a.b.C. A '$' is kept, as only the class file shows whether it
// separates a nested class.
func ExternalName(internal string) string { return strings.ReplaceAll(internal, "/", ".") }

// InternalName is the inverse of [ExternalName].
func InternalName(external string) string { return strings.ReplaceAll(external, ".", "/") }

// ParseHuman reads a type as a Java programmer writes it: "int[]",
// "java.lang.String", "void". Nested classes are written with '$'.
func ParseHuman(s string) (Type, error) {
	p := scanner{kind: "type name", input: s}
	p.checkLength()
	base, dims := s, 0
	for strings.HasSuffix(base, "[]") {
		base, dims = base[:len(base)-2], dims+1
	}
	if dims > maxDimensions {
		p.fail(len(base), "array of more than 255 dimensions")
	}
	letter := primitiveLetter(base)
	if letter == "V" && dims > 0 {
		p.fail(len(base), "array of void")
	}
	if letter == "" {
		checkExternal(&p, base)
		letter = "L" + InternalName(base) + ";"
	}
	if len(letter)+dims > maxLength {
		p.fail(0, "longer than 65535 bytes")
	}
	if p.err != nil {
		return "", p.err
	}
	return Type(strings.Repeat("[", dims) + letter), nil
}

// checkExternal refuses a class name that is not identifiers joined by '.'.
func checkExternal(p *scanner, name string) {
	start := 0
	for i := 0; i <= len(name); i++ {
		if i == len(name) || name[i] == '.' {
			if i == start {
				p.fail(i, "empty name")
			}
			start = i + 1
			continue
		}
		if c := name[i]; c == '/' || c == ';' || c == '[' {
			p.fail(i, "'"+string(rune(c))+"' inside a name")
		}
	}
}

func primitiveLetter(name string) string {
	if name == "" {
		return ""
	}
	for c := 'B'; c <= 'Z'; c++ {
		if primitiveNames[c] == name {
			return string(c)
		}
	}
	return ""
}
