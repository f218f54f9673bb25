// Package arena reads and writes the memory that hooks measure into: a file
// mapped by the target and by Sonde.
//
// The target's threads write without locks, each into blocks of its own; Sonde
// reads at any moment, and asks nobody. Pieces are taken from the file one
// behind the other and never given back or moved, so what a ref names is there
// for good. Only what is allocated on disk, up to the limit that Sonde raises,
// is ever touched: a store to a page the file system cannot provide would end
// in the program.
//
// The layout is in layout.table, from which both sides' constants are made.
package arena

//go:generate go run ./gen -java ../../../agent/hooks/stubs/sonde/layout/Layout.java
