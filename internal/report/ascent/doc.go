// Package ascent reads a climb for those who show it: which way up is the main one,
// who of the program causes a hot spot, where the way divides, and how all of it lies
// in time. It writes nothing.
package ascent
