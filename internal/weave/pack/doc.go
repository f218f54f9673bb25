// Package pack reads and writes packs: files with the woven form of a program's classes,
// made ahead, by which an agent weaves as they load without a Sonde
// (docs/formats/pack.md).
//
// What the agent reads (the front and the deltas) is apart from what only Sonde does. A
// woven class is kept as what it takes to make it of the original: packs are small, and
// nobody gets woven code without having the class it was made for.
package pack
