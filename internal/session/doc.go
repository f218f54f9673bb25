// Package session is one JVM under observation: it enters, puts hooks in, reads
// what they measure, and leaves. It is the only owner of what happens in a
// target.
//
// A session stands on packages that know nothing of each other: attach loads
// the agent, foothold keeps what lies in the target's file system, control
// speaks with the agent, arena reads what hooks write, origin says what a class
// is woven from and weave weaves it.
//
// Weaving happens here, in answer to the JVM: a batch of classes is to be
// retransformed, the JVM shows each to the agent, the agent hands it over and
// gets back the woven class. Hooks go in switched off, and are switched on
// together when all are in.
package session
