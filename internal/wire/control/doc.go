// Package control is Sonde's end of its conversation with the agent in a JVM;
// docs/formats/control.md is the contract.
//
// The agent dials. A Door takes the one caller that proves it could read the
// session's file and makes it a Peer; all others are cut off without a word. A
// Peer asks the agent for things, for any number of goroutines at a time, has
// classes woven when the agent asks, and keeps the lease alive.
//
// The other end runs in a process that may be broken or hostile: what it sends
// is bounded, checked whole before it is believed, and any defect ends the
// session, upon which an agent puts its JVM back as it was. Every wait ends:
// with its context, with the connection, or after a limit of its own.
package control

//go:generate go run ./gen -go kinds_gen.go -java ../../../agent/control/src8/sonde/agent/control/Kind.java kinds.table
