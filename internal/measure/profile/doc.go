// Package profile measures a call subgraph of a running JVM: all that is called,
// directly or not, by root methods, while they run.
//
// What a method can call is read from class files (package callgraph); hooks go in
// by way of package session; what they measured becomes a calling context tree
// (package cct). The schemes differ in when callees get their hooks: eager, all
// that can be reached before the first root call; lazy, those of a method when it
// is first entered, while that call waits.
package profile
