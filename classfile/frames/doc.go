// Package frames reasons about what stands in local variables and on the operand
// stack of a body: it tells stack-map frames in full, follows types through
// instructions, and finds the call with which a constructor initialises its object.
//
// It never computes what a compiler left out: types at a join come from the frames
// the class file has. Where a class is so old that it has none, the state found on
// the first way to a join stands for all, which is enough to know depths and
// uninitialised objects, because those must agree on every way.
package frames
