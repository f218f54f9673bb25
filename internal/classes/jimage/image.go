// Package jimage reads JDK run-time images, the file lib/modules of every JDK
// since 9, which holds all classes and resources of its modules. It also reads
// lib/rt.jar and the jars in the same directory, where JDK 8 has its classes.
//
// The file is in the byte order of the machine it was made for:
//
//	header      7 × u4: magic, version, flags, resources, table length,
//	            size of the attributes, size of the strings
//	redirect    table length × s4   of a perfect hash, which is not used here
//	offsets     table length × u4   offsets into the attributes
//	attributes  one record per resource: bytes kind<<3 | length-1, each
//	            followed by length bytes of value, big-endian, until kind 0
//	strings     modified UTF-8, each ended by a 0 byte
//	content     the resources, at offsets counted from here
//
// A resource is named /module/parent/base.extension; its record holds the four
// parts as offsets into the strings, and where its content lies.
package jimage

import (
	"archive/zip"
	"bytes"
	"cmp"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
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
	Offset    int64 // in the file
	Detail    string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s: not a usable JDK run-time image: %s at offset %d: %s", e.File, e.Structure, e.Offset, e.Detail)
}

// Bounds that no honest image reaches. They bound what the index of a hostile one takes. That
// of JDK 25 has 30,000 resources, and 3 MB.
const (
	maxFile      = 16 << 30
	maxIndex     = 128 << 20
	maxResources = 1 << 20
	maxNames     = 256 << 20 // bytes of all names
)

// Image is an open run-time image. What a JVM's image holds need not be requested from
// the JVM. Reading content is safe for use by several goroutines until it is closed. A nil
// Image holds no classes.
type Image struct {
	file       string
	from       io.ReaderAt
	size       int64 // of the file
	close      func() error
	order      binary.ByteOrder
	attributes []byte
	attrStart  int64
	strings    string
	content    int64                      // position of the first resource
	names      int                        // bytes of the names so far
	resources  []resource                 // in the order of the file
	sort       sync.Once                  // when ordered is first needed
	ordered    []*resource                // in order of module and path
	classes    map[string]*resource       // by internal name
	exports    map[string]map[string]bool // packages exported to all modules, by module; read on demand
}

// OfJVM opens what has the classes of a JVM's JDK; nil where that cannot be read.
func OfJVM(j *process.JVM) *Image {
	return openLibrary(j.Image, func(name string) (*os.File, error) { return process.Local.OpenFile(j, name, maxFile) })
}

// OpenLibrary opens lib/modules of a JDK, or lib/rt.jar of JDK 8 with the jars in the same directory. It
// returns nil where path is empty or cannot be read.
func OpenLibrary(path string) *Image { return openLibrary(path, os.Open) }

type opener func(name string) (*os.File, error)

func openLibrary(path string, open opener) *Image {
	read := openImage
	if filepath.Base(path) == bootJars[0] {
		read = openJars
	}
	im, err := read(path, open)
	if err != nil {
		return nil
	}
	return im
}

// Open opens the image at path. Close releases it.
func Open(path string) (*Image, error) { return openImage(path, os.Open) }

// openImage reads the index. The file is read, not mapped: if it is truncated meanwhile, this causes an
// error, not a fault.
func openImage(path string, open opener) (*Image, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &FormatError{File: f.Name(), Structure: "file", Detail: "not a regular file"}
	}
	var im *Image
	if err == nil {
		im, err = parse(f.Name(), f, info.Size())
	}
	if err != nil {
		_ = f.Close() // it was only read
		return nil, err
	}
	im.close = f.Close
	return im, nil
}

// Close releases the image.
func (im *Image) Close() error {
	if im == nil || im.close == nil {
		return nil
	}
	end := im.close
	im.close = nil
	return end()
}

// Is reports whether a file that begins with head is a run-time image.
func Is(head []byte) bool {
	return len(head) >= 4 && (binary.LittleEndian.Uint32(head) == magic || binary.BigEndian.Uint32(head) == magic)
}

func parse(file string, from io.ReaderAt, size int64) (*Image, error) {
	im := &Image{file: file, from: from, size: size, order: binary.LittleEndian}
	header, err := im.bytes("header", 0, min(headerSize, size))
	if err != nil {
		return nil, err
	}
	if len(header) < headerSize || !Is(header) {
		return nil, im.defect("header", 0, "magic 0xCAFEDADA is missing; a JDK keeps its image in lib/modules")
	}
	if binary.BigEndian.Uint32(header) == magic {
		im.order = binary.BigEndian
	}
	u4 := func(at int) uint32 { return im.order.Uint32(header[at:]) }
	if v := u4(4); v != version {
		return nil, im.defect("header", 4, fmt.Sprintf("version %d.%d; only 1.0 is known", v>>16, v&0xFFFF))
	}
	// In 64 bits no sum of these 32-bit sizes overflows.
	length, attributes, strings := int64(u4(16)), int64(u4(20)), int64(u4(24))
	im.content = headerSize + 8*length + attributes + strings
	if im.content > size || im.content > maxIndex || length > maxResources {
		return nil, im.defect("header", 16, fmt.Sprintf("index of %d resources and %d bytes in a file of %d", length, im.content, size))
	}
	index, err := im.bytes("index", headerSize, im.content-headerSize)
	if err != nil {
		return nil, err
	}
	im.attrStart = headerSize + 8*length
	im.attributes = index[8*length : 8*length+attributes]
	im.strings = string(index[8*length+attributes:])
	return im, im.index(index[4*length : 8*length])
}

// bytes reads a part of the file.
func (im *Image) bytes(structure string, at, size int64) ([]byte, error) {
	data := make([]byte, size)
	if _, err := im.from.ReadAt(data, at); err != nil {
		return nil, im.defect(structure, at, err.Error())
	}
	return data, nil
}

// index lists what modules hold. The image also has an index of its packages under the
// pseudo module "packages" and, since JDK 9, of its modules under "modules"; neither is
// content.
func (im *Image) index(offsets []byte) error {
	im.resources = make([]resource, 0, len(offsets)/4)
	for ; len(offsets) > 0; offsets = offsets[4:] {
		r, err := im.resource(im.order.Uint32(offsets))
		if err != nil {
			return err
		}
		if im.names += len(r.module) + len(r.path); im.names > maxNames {
			return im.defect("location", r.position, fmt.Sprintf("the names of the resources have more than %d bytes", maxNames))
		}
		if r.module != "" && r.module != "packages" && r.module != "modules" {
			im.resources = append(im.resources, r)
		}
	}
	im.arrange()
	return nil
}

// arrange finds the classes among the resources. Of several with the same name, that of the first
// module counts, and of those the first.
func (im *Image) arrange() {
	im.classes = make(map[string]*resource, len(im.resources))
	for i := range im.resources {
		r := &im.resources[i]
		if class, is := strings.CutSuffix(r.path, ".class"); is && (im.classes[class] == nil || r.module < im.classes[class].module) {
			im.classes[class] = r
		}
	}
}

// inOrder returns the resources in order of module and path. Sorting takes longer than
// reading the index, and few users of an image need it.
func (im *Image) inOrder() []*resource {
	im.sort.Do(func() {
		im.ordered = make([]*resource, len(im.resources))
		for i := range im.resources {
			im.ordered[i] = &im.resources[i]
		}
		slices.SortStableFunc(im.ordered, func(a, b *resource) int {
			return cmp.Or(strings.Compare(a.module, b.module), strings.Compare(a.path, b.path))
		})
	})
	return im.ordered
}

// Each calls fn for every resource of every module, in order of module and
// path, until fn returns an error, which Each returns.
func (im *Image) Each(fn func(module, path string, data []byte) error) error {
	for _, r := range im.inOrder() {
		data, err := im.read(r)
		if err != nil {
			return err
		}
		if err := fn(r.module, r.path, data); err != nil {
			return err
		}
	}
	return nil
}

// Read returns the content of one resource, named like
// /java.base/java/lang/String.class, with or without the first slash. The
// error answers to [fs.ErrNotExist] where there is none.
func (im *Image) Read(name string) ([]byte, error) {
	module, path, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	ordered := im.inOrder()
	at, found := slices.BinarySearchFunc(ordered, module, func(r *resource, module string) int {
		return cmp.Or(strings.Compare(r.module, module), strings.Compare(r.path, path))
	})
	if !found {
		return nil, fmt.Errorf("%s: no entry %s: %w", im.file, name, fs.ErrNotExist)
	}
	return im.read(ordered[at])
}

// Has reports whether the image holds a class, given by its internal name.
func (im *Image) Has(class string) bool { return im != nil && im.classes[class] != nil }

// Module returns the module of a class; "" where the image does not hold the class.
func (im *Image) Module(class string) string {
	if !im.Has(class) {
		return ""
	}
	return im.classes[class].module
}

// IsJDK reports whether a class belongs to a module of the JDK, as opposed to a module of
// a program that was linked into the image.
func (im *Image) IsJDK(class string) bool {
	module := im.Module(class)
	return strings.HasPrefix(module, "java.") || strings.HasPrefix(module, "jdk.")
}

// Classes returns the names of all classes in order.
func (im *Image) Classes() []string {
	if im == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(im.classes))
}

// Class returns a class file; nil where the image does not hold the class.
func (im *Image) Class(name string) []byte {
	if !im.Has(name) {
		return nil
	}
	file, err := im.read(im.classes[name])
	if err != nil {
		return nil
	}
	return file
}

// Exports reports whether class user may use a class: both are in one module, or the
// package of the class is exported to all modules. It is true for classes outside the
// image, about which nothing is known. It is for use by one goroutine at a time.
func (im *Image) Exports(class, user string) bool {
	module := im.Module(class)
	if module == "" || module == im.Module(user) {
		return true
	}
	packages, known := im.exports[module]
	if !known {
		packages = im.readExports(module)
		if im.exports == nil {
			im.exports = make(map[string]map[string]bool)
		}
		im.exports[module] = packages
	}
	return packages == nil || packages[class[:max(0, strings.LastIndexByte(class, '/'))]]
}

// readExports returns nil where the descriptor of the module cannot be read.
func (im *Image) readExports(module string) map[string]bool {
	at := slices.IndexFunc(im.resources, func(r resource) bool { return r.path == "module-info.class" && r.module == module })
	if at < 0 {
		return nil
	}
	file, err := im.read(&im.resources[at])
	if err != nil {
		return nil
	}
	class, err := classfile.Parse(file)
	if err != nil {
		return nil
	}
	attribute := class.Find(class.Attributes, classfile.KindModule)
	if attribute == nil {
		return nil
	}
	contents, err := class.Decode(*attribute)
	described, is := contents.(*classfile.Module)
	if err != nil || !is {
		return nil
	}
	packages := make(map[string]bool)
	for _, export := range described.Exports {
		if name, err := class.Pool.PackageName(export.Package); err == nil && len(export.To) == 0 {
			packages[string(name)] = true
		}
	}
	return packages
}

func (im *Image) defect(structure string, offset int64, detail string) error {
	return &FormatError{File: im.file, Structure: structure, Offset: offset, Detail: detail}
}

// Kinds of attributes of a resource. Kinds past the last are skipped, as later JDKs
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

// resource is the name of a resource and the position of its content.
type resource struct {
	position                 int64 // of the record in the file, for messages
	module                   string
	path                     string    // without the module: java/lang/String.class
	offset, compressed, size uint64    // compressed is 0 for content that lies as it is
	entry                    *zip.File // instead of these, in a jar of JDK 8
}

// resource decodes the attribute record at the given offset.
func (im *Image) resource(offset uint32) (resource, error) {
	r := resource{position: im.attrStart + int64(offset)}
	var values [attrCount]uint64
	pos := uint64(offset)
	for count := 0; ; count++ {
		if pos >= uint64(len(im.attributes)) || count == maxAttributes {
			return r, im.defect("location", r.position, "record runs past the attributes")
		}
		kind, n := im.attributes[pos]>>3, uint64(im.attributes[pos]&7)+1
		if kind == attrEnd {
			break
		}
		pos++
		if n > uint64(len(im.attributes))-pos {
			return r, im.defect("location", r.position, "record runs past the attributes")
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
	r.offset, r.compressed, r.size = values[attrOffset], values[attrCompressed], values[attrUncompressed]
	var names [4]string // module, parent, base, extension
	for i := range names {
		at := values[attrModule+i]
		name, ok := im.text(at)
		if !ok {
			return r, im.defect("location", r.position, fmt.Sprintf("name at %d lies outside the strings", at))
		}
		names[i] = name
	}
	slash, dot := "", ""
	if names[1] != "" {
		slash = "/"
	}
	if names[3] != "" {
		dot = "."
	}
	r.module, r.path = names[0], names[1]+slash+names[2]+dot+names[3]
	return r, nil
}

// text is the string at an offset of the string table.
func (im *Image) text(offset uint64) (string, bool) {
	if offset >= uint64(len(im.strings)) {
		return "", false
	}
	end := strings.IndexByte(im.strings[offset:min(offset+maxName, uint64(len(im.strings)))], 0)
	if end < 0 {
		return "", false
	}
	return im.strings[offset : offset+uint64(end)], true
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

// maxResource bounds the size of one resource. The largest in a JDK, its root
// certificates and locale data included, has a few MB.
const maxResource = 256 << 20

// read returns the content of a resource, unpacked where it is compressed.
func (im *Image) read(r *resource) ([]byte, error) {
	if r.entry != nil {
		return readEntry(r.entry)
	}
	stored := r.size
	if r.compressed != 0 {
		stored = r.compressed
	}
	room := uint64(im.size - im.content)
	if r.offset > room || stored > room-r.offset || stored > maxResource {
		return nil, im.defect("location", r.position, fmt.Sprintf("content of /%s/%s lies past the end of the file, or has more than %d bytes", r.module, r.path, maxResource))
	}
	start := im.content + int64(r.offset)
	data, err := im.bytes("content", start, int64(stored))
	if err != nil {
		return nil, err
	}
	for r.compressed != 0 && len(data) >= resourceHeaderSize && im.order.Uint32(data) == resourceMagic {
		if data, err = im.unpack(data, r, start); err != nil {
			return nil, err
		}
	}
	if uint64(len(data)) != r.size {
		return nil, im.defect("content", start, fmt.Sprintf("/%s/%s has %d bytes, its location says %d", r.module, r.path, len(data), r.size))
	}
	return data, nil
}

func (im *Image) unpack(data []byte, r *resource, start int64) ([]byte, error) {
	packed, size := im.order.Uint64(data[4:]), im.order.Uint64(data[12:])
	method, _ := im.text(uint64(im.order.Uint32(data[20:])))
	body := data[resourceHeaderSize:]
	if packed > uint64(len(body)) || size > maxResource {
		return nil, im.defect("compressed content", start, fmt.Sprintf("%d bytes said to unpack to %d", packed, size))
	}
	if method != "zip" {
		return nil, im.defect("compressed content", start, fmt.Sprintf("/%s/%s is packed by %q; only zip is known (jlink --compress=zip-6 makes such images)", r.module, r.path, method))
	}
	z, err := zlib.NewReader(bytes.NewReader(body[:packed]))
	if err != nil {
		return nil, im.defect("compressed content", start, err.Error())
	}
	// The declared size is only trusted as a limit, so a lie about it costs
	// no memory that the packed bytes do not justify.
	out, err := io.ReadAll(io.LimitReader(z, int64(size)+1))
	if err != nil {
		return nil, im.defect("compressed content", start, err.Error())
	}
	if uint64(len(out)) != size {
		return nil, im.defect("compressed content", start, fmt.Sprintf("unpacks to other than the %d bytes it says", size))
	}
	return out, nil
}
