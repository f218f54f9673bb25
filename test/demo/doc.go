// Package demo holds the tests of the demo's shop: that it answers every type of
// request, and that just one kind of checkout takes the slow path the demo is
// about. A checkout is slow by the number of statements the shop counts, not by time.
package demo
