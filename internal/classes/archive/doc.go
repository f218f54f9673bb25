// Package archive reads and rewrites what classes come in: a class file, a
// directory tree, a jar with jars inside it, a JDK run-time image (to read
// only).
//
// Rewriting keeps everything it has no reason to change. Entries of a jar keep
// order, times, comments, attributes and compression; what no transform
// touched is copied packed as it is. Files of a tree keep permissions and
// times, symbolic links stay links. The result appears under its name whole or
// not at all.
//
// Inputs are not trusted: names that leave the archive and archives that
// unpack to more than any honest one are refused.
package archive
