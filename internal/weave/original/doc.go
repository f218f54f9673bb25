// Package origin decides from which bytes a class is woven, and what undo puts
// back.
//
// A JVM shows a transformer bytes that it rebuilds from what it keeps of a
// class. Not everything is kept, and some JDKs forget what reflection needs. The
// class's own file has it all, but the file that a loader finds need not be the
// class that runs. So the file is compared with what the JVM shows, and is taken
// only when it is proven to be the same class.
package original
