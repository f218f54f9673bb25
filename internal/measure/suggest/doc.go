// Package observe finds out which methods of a program are worth a probe, and proposes
// a set of probes that stays inside a budget.
//
// Of a running JVM it takes samples, which say where time goes; thread dumps, which say
// where threads wait; class files, which say what methods have to do with: databases,
// the network, locks; and it counts the calls of the candidates for a few seconds, which
// says what a probe in each would cost. Of archives there are only class files.
//
// What a set covers is the share of all samples, of threads of the program that run, in
// whose stack a method with a probe stands above the leaf: it has called, directly or
// not, what was running. Methods whose calls did not end while they were counted, such
// as a server's loop, cover nothing: a probe would never tell of them.
package suggest
