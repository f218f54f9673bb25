// Package walk finds what causes a program's hot spots. The JVM's own samples say
// where time is spent and show most of the way up from there. Hooks are woven into
// the methods on those ways, all in one batch and switched off; then the walk climbs:
// the hooks of one level are on for a while, and off when those of the next go on.
// They tell who calls, how often, and for how long. At the end one batch takes all
// of them out.
//
// Redefining a class that is compiled into many methods costs a program seconds, so
// the classes of the JDK, and others that samples show to be such, are not touched; nor
// are methods so small that a hook, even one that is off, would cost more than they do.
// Then the climb begins one level up. Of native methods the calls have the hook.
package rootcause
