// Package live serves tests on running JVMs: programs that keep exact counts of
// what their methods did, an oracle that asks the JVM itself what it runs and
// what is alive, and somebody else's agent that changes the same classes.
//
//	testdata/harness/      the main class of all programs, and their counters
//	testdata/<workload>/   one behaviour each, in a class Main of that package
//	testdata/*/fresh/      classes off the class path, loaded while a program runs
//	testdata/oracle/       the oracle, in C, built when a test asks for it
//	testdata/otheragent/   the other agent
package live
