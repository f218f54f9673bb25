// Package demo holds the tests of the demo's shop: that it answers every type of
// request, and that just one kind of checkout takes the slow path the demo is
// about. What is slow is told by the statements the shop counts, not by time.
package demo
