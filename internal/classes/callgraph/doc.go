// Package callgraph answers what the methods of a running JVM can call, over the
// classes that are loaded. It mirrors class files and does nothing else: no class
// is fetched, no file read.
//
// A class is mirrored ([Graph.Add]), a method is expanded ([Graph.Expand]). What
// the bodies of expanded methods may call is callable, and is told once: by the
// expansion, or by the class that brings it, if that loads later. The answer is
// never too small and often too large:
//
//   - A virtual call reaches the declaration and every override in a mirrored
//     subtype. Overriding goes by name and descriptor, whatever the package.
//   - A lambda or method reference, in any mirrored class, is a class of its own that
//     implements the functional interface and calls the handle's target.
//   - A call into a skipped class may call back: from the first on, everything that
//     overrides or implements a method of a skipped class is callable. Leaves
//     (leaf.go) are excepted.
//   - A class with a supertype that is not mirrored may override anything by it.
//
// Methods are known by class, name and descriptor. Classes of one name, of several
// loaders or of several versions, are united: what one of them can call, all can.
// Names are as in the class file: internal, in modified UTF-8.
//
// What goes unseen: calls that native code makes other than of overriding methods;
// what reflection and method handles reach, which the caller follows at run time
// ([Graph.Reflected]); class loaders of the program that the JVM itself calls, until
// a call into a skipped class makes them callable; finalize(), unless it is called
// by name, since it runs on a thread of the JVM.
package callgraph
