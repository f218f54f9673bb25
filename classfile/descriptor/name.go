package descriptor

import "strings"

// ExternalName turns the internal name of a class, a/b/C, into the one
// programmers use, a.b.C. A '$' is kept, as only the class file shows whether it
// separates a nested class.
func ExternalName(internal string) string { return strings.ReplaceAll(internal, "/", ".") }

// InternalName is the inverse of [ExternalName].
func InternalName(external string) string { return strings.ReplaceAll(external, ".", "/") }

// PackageOf returns the package of an internal name; "" for the unnamed one.
func PackageOf(internal string) string {
	return internal[:max(0, strings.LastIndexByte(internal, '/'))]
}

// PrimitiveLetter returns the descriptor of a primitive type, or of void, by its keyword; 0
// for other names.
func PrimitiveLetter(keyword string) byte {
	for c := byte('B'); c <= 'Z'; c++ {
		if keyword != "" && primitiveNames[c] == keyword {
			return c
		}
	}
	return 0
}
