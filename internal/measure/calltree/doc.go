// Package callees tells what a method of a running JVM can call, level by level, as
// far as the bytecode of loaded classes says: a tree of methods, each with how it is
// called, how large it is, who loaded it, and whether it has been seen to be called.
//
// A World is what is known of the loaded classes; Tree grows a tree in it and changes
// nothing in any JVM. Look joins both with a session. It puts hooks in only if it is
// asked to watch, and they only count.
package calltree
