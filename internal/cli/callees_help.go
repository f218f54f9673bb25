package cli

const calleesLong = `Show every method that a method can call, level by level, as the bytecode of the
loaded classes has it: the targets of all calls, with every override in a loaded
subclass; constructors; the bodies of lambdas and the targets of method references;
static initialisers of classes that it uses. It is what can be called, which is more
than what is. What reflection and method handles call is in no bytecode: a method that
uses them is marked.

Nothing is changed in the JVM, no hook goes in and no class is redefined, unless
--watch asks for it. Class files are read from the JDK on disk where they are its, and
else from the class loaders, each once, and kept in the user's cache directory: while
another Sonde holds the JVM the classes of the last look are shown, with what that one's
hooks have counted.

STATE    what is known of its calls:
         instrumented  another Sonde has a hook in it, and has seen no call
         seen called   a hook has seen calls, CALLS of them
         never called  --watch has waited for a call in vain
         not watched   nothing has counted
         cannot be     it cannot have a hook; the reason stands behind it
SIZE     bytes of code
LOADER   its class loader: boot, or a number that is explained below the tree
CALL     how it is called: virtual, interface, static, special (super or private),
         constructor, lambda and method reference (made here, called by whoever gets
         it), initializer (of a class), dynamic (links a call site)
METHOD   the tree; "as" names what the call names where it reaches an override

A method is followed once; at other places it is marked. The JDK's own methods are
shown but neither followed nor watched unless --jdk says so, or METHOD is one of them.

With --watch hooks that only count go into the methods shown, at most --hooks, the
nearest first; all are taken out at the end, at once. Ctrl-C ends it early.

The tree is bounded by --levels, --overrides, --breadth and --nodes; what they cut is
counted and told, at its place and at the end.

A METHOD is a pattern of sonde instrument; each method that matches is a root. What
--json writes is described in docs/formats/callees.md.

Exit code: 0 when there is a tree, 1 on an error, 2 for a wrong command line.`
