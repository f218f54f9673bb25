// Package dump writes classes as text: the one canonical form for people, goldens
// and messages. Constant pool indices and code offsets do not appear in it, names
// and labels stand in their place, so that two texts differ where the classes do:
//
//	class public super shop/Order
//	  version 61.0
//	  extends java/lang/Object
//	  SourceFile "Order.java"
//
//	method public total (I)I
//	  Code stack 2 locals 2
//	    L0:
//	      line 7
//	      iload 1
//	      ifge L1
//	      iconst_0
//	      ireturn
//	    L1:
//	      line 8
//	      frame locals Lshop/Order; int
//	      iload 1
//	      ireturn
//	    L2:
//	    var 0 this Lshop/Order; L0 to L2
//
// Instructions are spelled one way (iload 1, whether the file has iload_1, iload or
// wide iload); frames are told in full, whatever form the file has them in. What
// cannot be made sense of is shown with the reason, in place, and the rest goes on.
package dump
