// Package hot tells from samples where a program spends its time: by method, by
// thread and by stack, over the last while.
//
// A sample of Java code counts one. Samples of native code are taken of threads
// that wait there as well, and at a rate of their own: the methods that are known
// to wait do not count at all, and the others share what processor time their
// thread used beyond its samples of Java code. Without that time known they count
// one each.
//
// Nothing here does any I/O.
package hotspots
