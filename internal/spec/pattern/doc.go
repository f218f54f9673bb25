// Package probe holds what a user asks to be instrumented, as data: method
// patterns and sets of them.
//
//	Pattern = [ "!" ] Class "." Method [ "(" [ Params ] ")" ] [ ":" Type ] .
//	Class   = Segment { ( "." | "$" ) Segment } .
//	Segment = "**" | name, in which "*" stands for any run of letters .
//	Method  = name, in which "*" stands for any run of letters
//	        | "<init>" | "<clinit>" .
//	Params  = ".." | Type { "," Type } [ "," ".." ] .
//	Type    = ( "int" | … | "*" | Class ) { "[]" } .
//
// The last segment is always the method: com.acme.Order.pay is every overload
// of pay, com.acme.Order.* every method of Order, com.acme.*.* every method of
// the classes directly in com.acme. There is one short form: a pattern that
// ends in ".**" means every method of whatever the rest names and of all
// below it, so com.acme.** is the whole package with its sub-packages,
// com.acme.Order.** the class with its nested classes, and ** everything.
//
// A "*" never leaves its segment, a "**" stands for any number of whole
// segments, none included: **.Service.* takes Service from every package.
// A nested class is a segment of its own: Order.Item and Order$Item both name
// it, Order.* does not reach into it, Order$** is all that is nested in Order
// and not Order itself. A "$" that cannot separate two names,
// as in $Proxy1 or Order$$Lambda, is a letter like any other.
//
// Constructors and static initialisers are methods called <init> and
// <clinit>; a bare "*" matches them too. Without a parameter list any
// parameters match; ".." at its end stands for the rest. In a type a bare "*"
// is any type, primitives and arrays included.
package pattern
