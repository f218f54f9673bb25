// Package weave merges templates with target methods.
//
// A template is a static Java method without arguments, compiled by any compiler.
// It calls Template.target() once, the sentinel: what runs before it is the prolog,
// what runs behind it the epilog. Weaving lifts both methods to lists and puts the
// target's in the sentinel's place:
//
//	template              target            woven
//	  long t = enter();                       enter; lstore t'
//	  try {                                 ┌ (target's code,
//	    target();          … return x;      │   return x ⇒ store r; goto E)
//	  } finally {                           └
//	    exit(t);                            E: lload t'; exit; load r; return
//	  }                                     H: astore; lload t'; exit; athrow
//
// The template's local variables move behind the target's, its constants are added
// to the target's pool, its exception blocks enclose the target's, and the target's
// frames grow by the template's variables that live across it. The target's own
// instructions, frames and tables are never changed otherwise. Several templates
// nest: the first is the outermost.
//
// A template may leave conditions and values open, Template.condition(n) and
// Template.value(n). Template.Bind puts fragments in their place, made for one method;
// the result is a template like any other.
//
// In a constructor the prolog runs first, and the blocks begin behind the call of
// super(...) or this(...): nothing may enclose an object that is not one yet. A template
// may have its prolog begin there too (BehindSuper), so that what it begins always ends.
//
// A template can also be woven around single calls inside a method, of native methods
// say, which have no code of their own (Weaver.Sites). It then stands where the call
// stood, inside all blocks that enclose the call, and whatever lies on the stack is
// put aside while its epilog runs. Calls are wrapped first, templates go around.
package weave
