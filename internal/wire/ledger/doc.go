// Package ledger tells what an arena holds by rows: the calls of each spot or method, by
// labels where results are told apart. An arena can be read so by somebody who did not
// make it, while a JVM writes to it and when that JVM has ended. No JVM is asked.
package ledger
