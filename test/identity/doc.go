// Package identity demands that reading and writing change nothing: every class of
// every JDK and jar on the machine comes back byte for byte, and so does every method
// body that was lifted to a list and lowered again.
//
//	go test ./test/identity -v                                a sample, in seconds
//	SONDE_CORPUS=full go test ./test/identity -v -timeout 60m all of it
package identity
