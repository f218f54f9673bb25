// Package preflight tells what stands between Sonde and a JVM before anything is
// done to it: what forbids it, what will cost, what else is inside.
//
// Gather collects facts and decides nothing; Judge decides and reads nothing, so
// every judgement can be tested as a row of a table. Most facts come from /proc.
// Some only the JVM itself knows: it is asked, by the attach protocol, for its
// flags and properties, which changes nothing in it but that it listens from
// then on.
package doctor
