// Package matrix weaves whole JDKs and whole jars and asks the JVM about the
// result: every class must pass the verifier, and programs made of nothing but
// woven classes must do what they did.
//
//	SONDE_MATRIX=1 go test ./test/matrix -timeout 90m -v
//	SONDE_MATRIX=1 go test ./test/matrix -timeout 90m -v -run 'TestModules/jdk25/rich'
//
// The jars come from the Debian packages in packages.txt.
package matrix
