// Package containers tests Sonde inside a container that has nothing but a JVM, and from another container that shares
// its processes. It needs root, and runs with make containers.
package containers
