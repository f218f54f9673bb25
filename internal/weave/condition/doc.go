// Package condition compiles conditions such as
//
//	$1.customer.tier == "gold" && $2 > 100
//
// to bytecode that is spliced into a method ([weave.Template.Bind]). [Parse] reads,
// [Check] finds out what a condition means in one method, by class files alone, and
// [Checked.Lower] gives the code.
//
// # Language
//
//	condition  = and { "||" and } .
//	and        = not { "&&" not } .
//	not        = "!" not | comparison | "(" condition ")" .
//	comparison = value [ op value | "in" "(" constant { "," constant } ")"
//	           | "matches" string | "is" class ] .
//	op         = "==" | "!=" | "<" | "<=" | ">" | ">=" .
//	value      = constant | path .
//	path       = ( "$" number | "$" name | "tx." name ) { "." name [ "()" ] | "[" index "]" } .
//	constant   = 12 | 7L | 0x1f | 2.5 | 5ms | 'c' | "text" | true | false | null | CONSTANT .
//
// $1 is the first argument, $name one by its name if the class file has it; $this;
// at the exit $return, $exception and $elapsed, in nanoseconds (units: ns us ms s min);
// tx.name a tag of the transaction. A step .x is the field x, else the getter x(),
// getX() or isX(); [0] an element of an array or list, ["key"] of a map; .length,
// .size() and .isEmpty() are of arrays, strings and collections. CONSTANT names one of
// an enum's, which a string does too. A pattern is a glob of * and ?.
//
// # Meaning
//
// Every step is null-safe: where something on the way is null, or an index is out of
// bounds, there is no value. A comparison in which a value is missing is false,
// whatever it asks, != too; but x == null asks just that, and x != null the opposite.
// A boolean by itself is x == true. !, && and || are those of logic, so !($1.a > 3)
// is true where there is no $1.a. What asks for $return is false where the method
// threw; $exception is null where it returned.
//
// Strings are equal by content and ordered by chars; enums are compared by name;
// boxes are unboxed; other objects by identity. Numbers are compared as int, long or
// double, whichever holds both; two floats, and a float and a constant, as float.
// NaN is unequal to everything.
//
// An element of a collection is read where the object is, exactly, of a class that is
// known (collections.go); where it is not, the condition is undecided. So it is where
// an element is not of the class that the declaration promises. Undecided conditions,
// and such as throw, count as false; the template tells them apart, so that they can
// be counted.
//
// # What is safe, and why
//
// A condition has no way to write, to loop, to wait or to make an object: its code
// reads fields and elements, compares, jumps forward, and calls strings, known
// collections, and getters whose bytecode was proven to do no more than that, in every
// loaded class that may override them (pure.go). Static members are out, as the first
// use of one may run a static initialiser. A pattern costs at most the product of its
// length and the string's: a regular expression could run away. A class that loads
// later may bring an override that is not pure: [Depends] says what to watch.
//
// A getter is called, not copied, as its fields are mostly private to another class.
// So a getter with a hook, or the condition's own method, is refused: the program
// would see calls that it does not make, or one that never ends.
//
// Code is spliced into somebody else's class, which must go on being verified as it
// was, without loading a class for it. So every field and call names the very class
// that its object is declared as; ways meet only where variables hold the same; and
// members that the JVM would not let the class use are refused: access is the JVM's
// own, with packages by loader, nests and modules. What cannot be foreseen fails where
// it is used, inside the condition, and not in the verifier.
package condition
