// Package attach speaks HotSpot's attach protocol, without a JDK's tools.
//
// A JVM listens on a Unix socket in its /tmp once it was asked to: by a file
// that is there when it gets SIGQUIT. To any other program that signal is
// deadly, and a JVM that does not listen prints all its threads. So nothing is
// signalled that was not proven, by jvmproc, to be a HotSpot JVM that answers;
// and the signal goes to the very process that was looked at, not to a number.
//
// The JVM talks to its own user alone. Files are made and the socket is opened
// with that user's identity, taken on by one locked thread and put off again;
// both are reached through /proc, in the JVM's own mount namespace.
//
// Every wait ends: with the context, or after a limit of its own.
package attach
