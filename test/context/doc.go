// Package context checks the meaning of contexts, call by call.
//
// A generator (generate.go) writes Java programs with random call graphs: static,
// virtual, interface, default, generic and recursive methods, constructors, lambdas,
// reflection, exceptions, several threads, and hand-offs from thread to thread. What
// such a program does is drawn from its seed. Its methods write down themselves what
// they do (testdata/support/Log.java). A reference (interpret.go, judge.go) reads
// that and decides for every call, by searching its whole stack, which contexts hold,
// which tags it sees and which conditions are true. Sonde is asked for the same, by
// random probes, and has to agree.
//
// With SONDE_SEEDS=17,18 the tests run these seeds instead of theirs.
package context
