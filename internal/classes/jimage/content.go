package jimage

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
)

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
