// Package formats opens every format that Sonde writes in programs that others wrote, and compares their numbers with
// those of Sonde's JSON. `make formats` fetches the programs and runs it; `make test` only builds it.
package formats
