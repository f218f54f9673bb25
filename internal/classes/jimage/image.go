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

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"sort"
)

const (
	magic      = 0xCAFEDADA
	version    = 1 << 16 // major 1, minor 0
	headerSize = 7 * 4
)

// FormatError reports the part of an image that violates the format.
type FormatError struct {
	File      string
	Structure string
	Offset    int // in the file
	Detail    string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s: not a usable JDK run-time image: %s at offset %d: %s", e.File, e.Structure, e.Offset, e.Detail)
}

// Image is an open run-time image. It is safe for use by several goroutines
// until it is closed.
type Image struct {
	file       string
	data       []byte // the whole file
	unmap      func() error
	order      binary.ByteOrder
	length     int // entries of the redirect and offsets tables
	offsets    int // position of the offsets table; redirect begins at headerSize
	attributes []byte
	attrStart  int
	strings    []byte
	content    int // position of the first resource
}

// Open maps the image at path into memory. Close releases it.
func Open(path string) (*Image, error) {
	data, unmap, err := mapFile(path)
	if err != nil {
		return nil, err
	}
	im, err := parse(path, data)
	if err != nil {
		_ = unmap() // the format error is the one to report
		return nil, err
	}
	im.unmap = unmap
	return im, nil
}

// Close releases the image. Content handed out as it lies in the file, which
// is all that was not compressed, must not be touched afterwards.
func (im *Image) Close() error {
	unmap := im.unmap
	im.unmap, im.data = nil, nil
	if unmap == nil {
		return nil
	}
	return unmap()
}

// Is reports whether a file that begins with head is a run-time image.
func Is(head []byte) bool {
	return len(head) >= 4 && (binary.LittleEndian.Uint32(head) == magic || binary.BigEndian.Uint32(head) == magic)
}

func parse(file string, data []byte) (*Image, error) {
	im := &Image{file: file, data: data, order: binary.LittleEndian}
	if len(data) < headerSize || !Is(data) {
		return nil, im.defect("header", 0, "magic 0xCAFEDADA is missing; a JDK keeps its image in lib/modules")
	}
	if binary.BigEndian.Uint32(data) == magic {
		im.order = binary.BigEndian
	}
	if v := im.u4(4); v != version {
		return nil, im.defect("header", 4, fmt.Sprintf("version %d.%d; only 1.0 is known", v>>16, v&0xFFFF))
	}
	// In 64 bits no sum of these 32-bit sizes overflows.
	length, attributes, strings := int64(im.u4(16)), int64(im.u4(20)), int64(im.u4(24))
	content := headerSize + 8*length + attributes + strings
	if content > int64(len(data)) {
		return nil, im.defect("header", 16, fmt.Sprintf("index of %d bytes in a file of %d", content, len(data)))
	}
	im.length = int(length)
	im.offsets = headerSize + 4*im.length
	im.attrStart = im.offsets + 4*im.length
	im.attributes = data[im.attrStart : im.attrStart+int(attributes)]
	im.strings = data[im.attrStart+int(attributes) : content]
	im.content = int(content)
	return im, nil
}

// Each calls fn for every resource of every module, in order of module and
// path, until fn returns an error, which Each returns. data may lie in the
// mapped file: fn must not change it, nor keep it beyond Close.
func (im *Image) Each(fn func(module, path string, data []byte) error) error {
	all, err := im.resources()
	if err != nil {
		return err
	}
	for i := range all {
		data, err := im.read(&all[i].location)
		if err != nil {
			return err
		}
		if err := fn(all[i].module, all[i].path, data); err != nil {
			return err
		}
	}
	return nil
}

// Read returns the content of one resource, named like
// /java.base/java/lang/String.class, with or without the first slash. The
// error answers to [fs.ErrNotExist] where there is none. What [Image.Each]
// says about data holds.
func (im *Image) Read(name string) ([]byte, error) {
	loc, err := im.find(name)
	if err != nil {
		return nil, err
	}
	if loc == nil {
		return nil, fmt.Errorf("%s: no entry %s: %w", im.file, name, fs.ErrNotExist)
	}
	return im.read(loc)
}

type resource struct {
	module, path string
	location     location
}

// resources lists what modules hold. The image also has an index of its
// packages under the pseudo module "packages" and, since JDK 9, of its modules
// under "modules"; neither is content.
func (im *Image) resources() ([]resource, error) {
	all := make([]resource, 0, im.length)
	for i := range im.length {
		loc, err := im.location(im.u4(im.offsets + 4*i))
		if err != nil {
			return nil, err
		}
		module, path := loc.module, loc.path()
		if module == "" || module == "packages" || module == "modules" {
			continue
		}
		all = append(all, resource{module, path, loc})
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].module != all[j].module {
			return all[i].module < all[j].module
		}
		return all[i].path < all[j].path
	})
	return all, nil
}

func (im *Image) u4(pos int) uint32 { return im.order.Uint32(im.data[pos:]) }

func (im *Image) defect(structure string, offset int, detail string) error {
	return &FormatError{File: im.file, Structure: structure, Offset: offset, Detail: detail}
}

// Modules lists the modules of the image, in order of their names. An image
// whose index is damaged has none.
func (im *Image) Modules() []string {
	all, err := im.resources()
	if err != nil {
		return nil
	}
	var modules []string
	for i := range all {
		if n := len(modules); n == 0 || modules[n-1] != all[i].module {
			modules = append(modules, all[i].module)
		}
	}
	return modules
}

// A compressed resource begins with one header per compression applied, the
// last applied first:
//
//	u4 magic  u8 compressed size  u8 uncompressed size
//	u4 name of the method (in the strings)  u4 its settings  u1 last
const (
	resourceMagic      = 0xCAFEFAFA
	resourceHeaderSize = 29
)

// maxResource bounds what one resource may claim to unpack to. The largest in
// a JDK, its root certificates and locale data included, has a few MB.
const maxResource = 1 << 30

// read returns the content of a resource, unpacked where it is compressed.
func (im *Image) read(loc *location) ([]byte, error) {
	stored := loc.size
	if loc.compressed != 0 {
		stored = loc.compressed
	}
	room := uint64(len(im.data) - im.content)
	if loc.offset > room || stored > room-loc.offset {
		return nil, im.defect("location", loc.position, fmt.Sprintf("content of /%s/%s lies past the end of the file", loc.module, loc.path()))
	}
	start := im.content + int(loc.offset)
	data := im.data[start : start+int(stored) : start+int(stored)]
	for loc.compressed != 0 && len(data) >= resourceHeaderSize && im.order.Uint32(data) == resourceMagic {
		var err error
		if data, err = im.unpack(data, loc, start); err != nil {
			return nil, err
		}
	}
	if uint64(len(data)) != loc.size {
		return nil, im.defect("content", start, fmt.Sprintf("/%s/%s has %d bytes, its location says %d", loc.module, loc.path(), len(data), loc.size))
	}
	return data, nil
}

func (im *Image) unpack(data []byte, loc *location, start int) ([]byte, error) {
	packed, size := im.order.Uint64(data[4:]), im.order.Uint64(data[12:])
	method, _ := im.text(uint64(im.order.Uint32(data[20:])))
	body := data[resourceHeaderSize:]
	if packed > uint64(len(body)) || size > maxResource {
		return nil, im.defect("compressed content", start, fmt.Sprintf("%d bytes said to unpack to %d", packed, size))
	}
	if method != "zip" {
		return nil, im.defect("compressed content", start, fmt.Sprintf("/%s/%s is packed by %q; only zip is known (jlink --compress=zip-6 makes such images)", loc.module, loc.path(), method))
	}
	r, err := zlib.NewReader(bytes.NewReader(body[:packed]))
	if err != nil {
		return nil, im.defect("compressed content", start, err.Error())
	}
	// The declared size is only trusted as a limit, so a lie about it costs
	// no memory that the packed bytes do not justify.
	out, err := io.ReadAll(io.LimitReader(r, int64(size)+1))
	if err != nil {
		return nil, im.defect("compressed content", start, err.Error())
	}
	if uint64(len(out)) != size {
		return nil, im.defect("compressed content", start, fmt.Sprintf("unpacks to other than the %d bytes it says", size))
	}
	return out, nil
}
