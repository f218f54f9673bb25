// Package programs holds Java programs, each of one behaviour, and tests that
// woven they do what they did before: same output, same exit code, same traces.
//
//	src17/ src21/ src25/   the programs, by the first JDK that compiles them
//	templates/             a template that uses all there is, and what counts
//
// A program is one file in the unnamed package; it prints enough to prove its
// behaviour, and nothing that depends on time, scheduling or addresses.
package programs
