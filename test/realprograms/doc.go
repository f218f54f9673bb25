// Package realprograms puts hooks into programs that others wrote, while they
// work, and takes them out again: what such a program says must be the same
// before, during and after, to the last letter.
//
//	go test ./test/realprograms
//	SONDE_MATRIX=1 go test ./test/realprograms -timeout 60m -v
//
// H2 with a hook in every method is part of every run; the rest takes minutes
// and runs with SONDE_MATRIX. The programs are Debian packages, those of
// ../matrix/packages.txt; runtimes of other versions are named in SONDE_RUNTIMES,
// a path list.
package realprograms
