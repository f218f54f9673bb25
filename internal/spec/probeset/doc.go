// Package wanted holds what is wanted of a JVM as data: probes, tags, and their file,
// probes.yaml, whose schema is told in docs/formats/probes.md. It reads and writes the
// text, checks it as far as that can be without classes, and tells two sets apart.
//
// [Parse] is strict: what it does not know is an error, and all errors are told at
// once, each with its line and what to do. [Set.YAML] writes the canonical text, which
// parses back to the same set. Sets that were made of flags are checked by [Set.Check].
package probeset
