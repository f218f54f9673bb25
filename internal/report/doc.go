// Package report writes profiles for people and for other programs: text, HTML,
// pprof, collapsed stacks and JSON; reads back those that can be, and compares two.
package report
