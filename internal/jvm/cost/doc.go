// Package toll tells from outside, without the JVM taking part, what something
// done to a JVM cost it: how long it was stopped, and how much its compilers
// had to do again.
//
// Pauses come from the counters the JVM publishes in shared memory (package
// hsperf), which a JVM under -XX:-UsePerfData or -XX:+PerfDisableSharedMem does
// not have; processor time comes from /proc, by the names the kernel has for
// the JVM's threads, which JDK 8 does not give them. What could be read is said
// beside every number: a zero that is not known is no zero.
//
// All of a JVM's pauses in an interval are counted, whoever caused them: a
// collection in the same interval is in the sum, and the interval's end points
// should lie close to what is to be measured.
package cost
