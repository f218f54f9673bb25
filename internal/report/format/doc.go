// Package figure writes numbers, times and names as people read them, in tables, notes
// and reports alike.
package format
