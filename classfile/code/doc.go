// Package code is a method body as a doubly linked list.
//
// [Lift] turns a Code attribute into a list of instructions, labels, line numbers
// and stack-map frames. Every branch target, every end of a range and every
// position a frame speaks of is a pointer to a label, never an offset: an edit
// moves nothing else. [Body.Append] lowers the list again, once, giving each
// instruction its new offset. A body that was not edited lowers to the bytes it was
// lifted from.
//
//	Code {
//	    u2 max_stack, max_locals;
//	    u4 length; u1 code[length];
//	    u2 n; { u2 start, end, handler, catch_type; } exceptions[n];
//	    u2 n; attribute attributes[n];   LineNumberTable, LocalVariableTable,
//	}                                    StackMapTable, type annotations, …
//
// Within the list, what belongs to a position precedes its instruction: labels,
// then the frame, then line numbers.
package code
