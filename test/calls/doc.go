// Package calls compares what sonde calls says about real servers under load with their access logs and with the statement
// log of PostgreSQL. `make calls` runs it.
package calls
