// Package jimage reads JDK run-time images, the file lib/modules of every JDK
// since 9, which holds all classes and resources of its modules.
//
// The file is in the byte order of the machine it was made for:
//
//	header      7 × u4: magic, version, flags, resources, table length,
//	            size of the attributes, size of the strings
//	redirect    table length × s4   first level of a perfect hash
//	offsets     table length × u4   second level: offset into the attributes
//	attributes  one record per resource: bytes kind<<3 | length-1, each
//	            followed by length bytes of value, big-endian, until kind 0
//	strings     modified UTF-8, each ended by a 0 byte
//	content     the resources, at offsets counted from here
//
// A resource is named /module/parent/base.extension; its record holds the four
// parts as offsets into the strings, and where its content lies.
package jimage
