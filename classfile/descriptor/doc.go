// Package descriptor reads and writes the names, descriptors and generic
// signatures of class files.
//
//	FieldType        = BaseType | "L" InternalName ";" | "[" FieldType .
//	MethodDescriptor = "(" { FieldType } ")" ( FieldType | "V" ) .
//
// Descriptors stay the strings they are: a [Type] or [Method] is a checked
// piece of the input, so that taking one apart allocates nothing. Signatures
// (JVMS 4.7.9.1) are trees, as callers want to walk and change them; printing
// a parsed signature gives the string it came from.
//
// Names are bytes in modified UTF-8, taken as they stand: this package looks
// only at the ASCII delimiters, which no longer encoding contains.
package descriptor
