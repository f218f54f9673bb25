// Package watch keeps what is wanted of a JVM applied to it: it finds the methods that
// probes, sequences and tags name, checks conditions in each, and has a session put
// spots there, now and as classes load.
//
// What a set asks for is compiled as a whole before anything is installed. The plan that
// comes of it is a list of spots, each with a key that says what it is; applying a plan
// is to weave those that are new, take out those that are gone and switch the others.
package liveprobes
