// Package sequence reads the sequences of methods that say where a probe acts.
//
//	Sequence = Element { Link Element } [ Link ] .
//	Link     = ">>" | ">" .
//	Element  = a pattern of package probe, without "!" .
//
// Web.handle >> Order.* > Pay.charge holds for a call when those methods are on
// the thread's stack in this order, outermost first, outside the call itself. Behind
// ">>" the next is somewhere below, behind ">" it is called directly. The link at the
// end leads to the probed method; without one that is ">>".
//
// The ">" of <init> and <clinit> is part of the name: Order.<init>>Pay.charge has one
// link.
package sequence
