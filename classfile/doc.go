// Package classfile reads and writes Java class files, from Java 1.0 to 25.
//
// [Parse] and [Class.Append] are inverse to each other, byte for byte. What the
// package does not know, it keeps. Attributes stay bytes until someone asks for
// their contents ([Class.Decode]), and method bodies until someone lifts
// them (package code), so that a class that is only looked at costs little.
//
//	ClassFile {
//	    u4 magic; u2 minor, major;
//	    u2 count; cp_info pool[count-1];
//	    u2 access, this, super;
//	    u2 n; u2 interfaces[n];
//	    u2 n; member fields[n];
//	    u2 n; member methods[n];
//	    u2 n; attribute attributes[n];
//	}
//
// The constant pool is append-only: an existing index never changes its meaning.
package classfile
