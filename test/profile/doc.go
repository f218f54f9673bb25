// Package profile tests profiles of running JVMs against programs that keep
// exact counts of what their methods did, in each calling context below a root.
//
//	testdata/src/ledger/    the counts, and what all the programs have in common
//	testdata/src/<name>/    one behaviour each, in a class Main of that package
//	testdata/src25/<name>/  behaviours that only JDK 25 has
//	testdata/fresh/         classes off the class path, loaded while a program runs
//	testdata/wide.tmpl      the source of a wide hierarchy
//
// The programs' main class is that of test/live.
package profile
