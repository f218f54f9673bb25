package jimage

import (
	"bytes"
	"fmt"
	"strings"
)

// Kinds of location attributes. Kinds past the last are skipped, as later JDKs
// add facts about a resource, not ways to find it.
const (
	attrEnd = iota
	attrModule
	attrParent
	attrBase
	attrExtension
	attrOffset
	attrCompressed
	attrUncompressed
	attrCount
)

// Bounds that no honest record reaches. They keep the work per record constant
// however large a hostile file is.
const (
	maxAttributes = 64
	maxName       = 65535
)

// location is the name of a resource and the position of its content.
type location struct {
	position                        int // of the record in the file, for messages
	module, parent, base, extension string
	offset, compressed, size        uint64 // compressed is 0 for content that lies as it is
}

// path is the name without the module: java/lang/String.class.
func (l *location) path() string {
	var b strings.Builder
	b.Grow(len(l.parent) + len(l.base) + len(l.extension) + 2)
	if l.parent != "" {
		b.WriteString(l.parent)
		b.WriteByte('/')
	}
	b.WriteString(l.base)
	if l.extension != "" {
		b.WriteByte('.')
		b.WriteString(l.extension)
	}
	return b.String()
}

// location decodes the attribute record at the given offset.
func (im *Image) location(offset uint32) (location, error) {
	loc := location{position: im.attrStart + int(offset)}
	var values [attrCount]uint64
	pos := uint64(offset)
	for count := 0; ; count++ {
		if pos >= uint64(len(im.attributes)) || count == maxAttributes {
			return loc, im.defect("location", loc.position, "record runs past the attributes")
		}
		kind, n := im.attributes[pos]>>3, uint64(im.attributes[pos]&7)+1
		if kind == attrEnd {
			break
		}
		pos++
		if n > uint64(len(im.attributes))-pos {
			return loc, im.defect("location", loc.position, "record runs past the attributes")
		}
		var value uint64
		for _, b := range im.attributes[pos : pos+n] {
			value = value<<8 | uint64(b)
		}
		if kind < attrCount {
			values[kind] = value
		}
		pos += n
	}
	loc.offset, loc.compressed, loc.size = values[attrOffset], values[attrCompressed], values[attrUncompressed]
	for i, field := range [...]*string{&loc.module, &loc.parent, &loc.base, &loc.extension} {
		name := values[attrModule+i]
		text, ok := im.text(name)
		if !ok {
			return loc, im.defect("location", loc.position, fmt.Sprintf("name at %d lies outside the strings", name))
		}
		*field = text
	}
	return loc, nil
}

// text is the string at an offset of the string table.
func (im *Image) text(offset uint64) (string, bool) {
	if offset >= uint64(len(im.strings)) {
		return "", false
	}
	end := bytes.IndexByte(im.strings[offset:min(offset+maxName, uint64(len(im.strings)))], 0)
	if end < 0 {
		return "", false
	}
	return string(im.strings[offset : offset+uint64(end)]), true
}

// find looks a resource up in the perfect hash: the first hash picks an entry
// of redirect, which is the seed for a second hash where positive, the place
// itself where negative, and says "no such name" where 0. nil means not found.
func (im *Image) find(name string) (*location, error) {
	if !strings.HasPrefix(name, "/") {
		name = "/" + name
	}
	if im.length == 0 {
		return nil, nil
	}
	const firstSeed = 0x01000193
	index := hash(name, firstSeed) % uint32(im.length)
	switch redirect := int32(im.u4(headerSize + 4*int(index))); {
	case redirect > 0:
		index = hash(name, uint32(redirect)) % uint32(im.length)
	case redirect < 0:
		index = uint32(-1 - redirect)
	default:
		return nil, nil
	}
	if index >= uint32(im.length) {
		return nil, im.defect("redirect table", headerSize, fmt.Sprintf("entry leads to %d of %d", index, im.length))
	}
	loc, err := im.location(im.u4(im.offsets + 4*int(index)))
	if err != nil {
		return nil, err
	}
	// Every name hashes to some entry: only a comparison shows whether it is this name.
	if "/"+loc.module+"/"+loc.path() != name {
		return nil, nil
	}
	return &loc, nil
}

func hash(name string, seed uint32) uint32 {
	const prime = 0x01000193
	for i := range len(name) {
		seed = seed*prime ^ uint32(name[i])
	}
	return seed & 0x7FFFFFFF
}
