package archive

import (
	"archive/zip"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// jarWriter writes the entries of a jar again, changed or as they were.
type jarWriter struct {
	zw    *zip.Writer
	strip bool // leave the signature out
}

func newJarWriter(dst io.Writer, old *zip.Reader, lead []byte, strip bool) (*jarWriter, error) {
	if len(lead) > 0 {
		if _, err := dst.Write(lead); err != nil {
			return nil, err
		}
	}
	jw := &jarWriter{zw: zip.NewWriter(dst), strip: strip}
	jw.zw.SetOffset(int64(len(lead)))
	return jw, jw.zw.SetComment(old.Comment)
}

func (jw *jarWriter) put(f *zip.File, o outcome) error {
	if jw.strip && isSignatureFile(f.Name) {
		return nil
	}
	if jw.strip && f.Name == manifestName && !o.changed {
		var err error
		if o, err = strippedManifest(f); err != nil {
			return err
		}
	}
	if o.changed {
		return jw.putChanged(f, o)
	}
	if strings.HasSuffix(f.Name, "/") {
		return jw.putDirectory(f)
	}
	return jw.putSame(f)
}

// putSame copies an entry packed as it is.
func (jw *jarWriter) putSame(f *zip.File) error {
	src, err := f.OpenRaw()
	if err != nil {
		return err
	}
	head := f.FileHeader
	head.Extra = withoutZip64(head.Extra)
	dst, err := jw.zw.CreateRaw(&head)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return err
}

// withoutZip64 removes the 64-bit sizes and offset from an extra field. The
// writer adds its own where it needs one, and JDKs refuse a jar with one that
// is not needed.
func withoutZip64(extra []byte) []byte {
	const zip64 = 1
	var kept []byte
	for rest := extra; len(rest) > 0; {
		if len(rest) < 4 || len(rest) < 4+int(le16(rest[2:])) {
			return append(kept, rest...) // no list of blocks: the tool that wrote it knows
		}
		size := 4 + int(le16(rest[2:]))
		if le16(rest) != zip64 {
			kept = append(kept, rest[:size]...)
		}
		rest = rest[size:]
	}
	return kept
}

// putChanged writes new content under the old header.
func (jw *jarWriter) putChanged(f *zip.File, o outcome) error {
	head := f.FileHeader
	body := o.data
	switch head.Method {
	case zip.Store:
	case zip.Deflate:
		body = o.packed
	default:
		return fmt.Errorf("cannot be written with compression method %d: %w", head.Method, zip.ErrAlgorithm)
	}
	const sizesFollow = 8 // flag: sizes come after the content; here they are known before
	head.Flags &^= sizesFollow
	head.Extra = withoutZip64(head.Extra)
	head.CRC32 = crc32.ChecksumIEEE(o.data)
	head.UncompressedSize64 = uint64(len(o.data))
	head.CompressedSize64 = uint64(len(body))
	dst, err := jw.zw.CreateRaw(&head)
	if err != nil {
		return err
	}
	_, err = dst.Write(body)
	return err
}

// putDirectory writes the entry of a directory. Some tools store two bytes,
// the empty text deflated, with it; nothing reads them.
func (jw *jarWriter) putDirectory(f *zip.File) error {
	if f.UncompressedSize64 != 0 {
		return fmt.Errorf("a directory with content: %w", zip.ErrFormat)
	}
	head := f.FileHeader
	head.Method, head.Flags = zip.Store, head.Flags&^8
	head.CRC32, head.CompressedSize64 = 0, 0
	head.Extra = withoutZip64(head.Extra)
	_, err := jw.zw.CreateRaw(&head)
	return err
}

func strippedManifest(f *zip.File) (outcome, error) {
	data, err := newUnpacker(int64(f.CompressedSize64)).read(f, f.Name, maxManifest)
	if err != nil {
		return outcome{}, err
	}
	o := outcome{changed: true, data: stripManifest(data)}
	if f.Method == zip.Deflate {
		o.packed, err = (&worker{}).deflate(o.data)
	}
	return o, err
}
