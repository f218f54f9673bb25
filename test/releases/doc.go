// Package releases tests that each live command works on every JDK that Sonde supports, oldest first: a program
// counts what it does, and sonde must report the same.
package releases
