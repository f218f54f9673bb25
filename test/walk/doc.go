// Package walk tests walks of running JVMs against programs with a known call
// graph and known costs, which say themselves which ways lead to their hot
// methods and how much of the time each takes.
//
//	testdata/src/harness/   what the programs have in common
//	testdata/src/<name>/    one kind of hot spot each, in a class Main of that package
//	testdata/src21/<name>/  kinds that only newer JDKs have
//	testdata/native/        a native method
//
// A program runs on in turns of about a millisecond, each of which goes all of its
// ways. Shares that a walk takes from samples are off by chance. So many samples
// are taken that a share is off by more than the five points allowed once in some
// ten thousand walks; where a busy machine gives fewer, four standard errors are
// allowed (allowance).
package walk
