// Package harvest finds what the agent of a pack has measured: the arena of a JVM that
// runs with a pack or that did, and the pack that says what was measured. It only reads.
package results
