package jimage

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"sort"
)

const (
	magic      = 0xCAFEDADA
	version    = 1 << 16 // major 1, minor 0
	headerSize = 7 * 4
)

// FormatError says which part of an image is not as the format demands.
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
		_ = unmap() // the format error is the one to tell
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
