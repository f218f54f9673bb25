// Package classtest judges class files in tests. It holds a reference parser
// that was written from the Java SE 25 specification, slow and plain, and shares
// no code with package classfile, so that the two can check each other; and a
// small builder for class files that javac does not write.
//
// [Describe] decodes everything in a class file and writes it as text in which
// every constant pool reference is resolved and every position in a body is the
// number of an instruction. Two class files with the same text differ at most in
// the layout of their constant pools.
package classtest

//go:generate go run ./zoogen
