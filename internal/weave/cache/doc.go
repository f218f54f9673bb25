// Package cache keeps classes as they were woven, so that each is woven once.
//
// An entry is found by its [Key]: a hash of the class file, of the templates, of what
// was asked for and of the engine's version. The same key means the same woven bytes,
// in every process and on every machine; so entries are never changed, only added and
// forgotten. What woven code says about methods it says by ids that are the same
// everywhere, unless two methods of one process share one: an entry names the method of
// each id, and a process that uses another one does without it ([Entry.Fits]).
//
// A [Store] may be memory, a disk, or something far away, and [Layered] has several
// behind each other. [Quiet] is what a command takes: it tells once what is the matter
// with a store, and goes on without it.
//
// # On disk
//
// One file holds one entry, in one of 256 directories:
//
//	DIR/3f/9c…     62 more digits of the key: an entry (docs/formats/cache.md)
//	DIR/new/…/…    files that are being written, in a directory of each process
//	DIR/size       how much all entries take; who holds its lock may add and remove
//	DIR/evict      who holds its lock makes room, or gathers
//	DIR/segment…   many entries behind each other
//	DIR/secret     what aliases are made with
//
// An entry is written under another name and renamed when it is whole, so a reader
// sees all of it or nothing, and takes no lock. It is not forced to the disk: that
// would cost a thousand times what weaving does, and what a power failure leaves half
// written fails its checksum and is woven again.
//
// The size is noted before an entry appears and after it is gone, so a process that is
// killed in between leaves a number that is too large, never one too small; the next one
// that makes room counts again. The directory in which a process writes is locked while it
// lives: what lies in one that nobody has locked was left by a process that is no more,
// and goes.
//
// Opening a file, looking at it, reading and closing it takes longer than weaving one
// method of a small class does, and hashing a large class longer than weaving one of its
// methods. So what a process had to read or keep one by one it gathers, soon after and when
// nobody waits, into a segment; there an entry is had by one read, and found by an alias that
// needs no such hash. Processes that are at work see segments that others have gathered since.
// A segment can go at any time, like all else; entries in it are checked as those in files are,
// and it counts in the size of the cache.
//
// Entries are code that goes into programs. A directory that somebody else could write
// to is refused, and so is a file.
package cache
