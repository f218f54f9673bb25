// Package flight reads what the JVM's flight recorder writes: recordings in
// files, and the chunks of a repository while the JVM adds to them.
//
// A recording is a row of chunks. Each begins with a header, followed by events,
// one after the other, each with its size and the number of its type. Two types
// are part of the format: metadata, which declares all others with their fields,
// and checkpoints, which hold values that events only name by a key. Both may be
// behind the events that need them. A flush adds to a chunk what was not written
// yet of all three, and then moves the size in the header: up to there all is
// whole, and behind it nothing is read.
package jfr
