// Package releases tests that each live command works on every JDK that Sonde supports, oldest first: a program
// counts what it does, and sonde must report the same. In make test, each JDK has a part of the commands.
//
//	SONDE_MATRIX=1 go test ./test/releases -timeout 60m -v                      all, also with other options of the JVM
//	SONDE_MATRIX=1 go test ./test/releases -v -run 'TestOptions/jdk21/ZGC'
//
// bench/matrix makes tables of the results.
package releases
