package archive

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strings"
)

// jarFile rewrites a jar that is a file of its own, or reads it where out is "". prefix is
// what the paths of its entries begin with.
func (w *rewriter) jarFile(in, out, prefix string) error {
	f, err := os.Open(in)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	r, err := zip.NewReader(f, info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w: %w", in, errNotJar, err)
	}
	w.unpack = newUnpacker(info.Size())
	if out == "" {
		return w.entries(r.File, in, prefix, 0, func(*zip.File, outcome) error { return nil })
	}
	strip, err := w.checkSignature(in, r.File)
	if err != nil {
		return err
	}
	lead, err := leadIn(f, r.File)
	if err != nil {
		return located(in, err)
	}
	w.done = progress{report: w.options.Progress}
	for _, f := range r.File {
		w.done.total += int64(f.CompressedSize64)
	}
	return WriteFile(out, info.Mode().Perm(), func(dst *os.File) error {
		jw, err := newJarWriter(dst, r, lead, strip)
		if err != nil {
			return err
		}
		if err := w.entries(r.File, in, prefix, 0, jw.put); err != nil {
			return err
		}
		if err := jw.zw.Close(); err != nil {
			return err
		}
		return w.commit()
	})
}

// checkSignature decides what to do about the signature of a jar that will
// change.
func (w *rewriter) checkSignature(jar string, files []*zip.File) (strip bool, err error) {
	signed := signature(files)
	if signed == "" {
		return false, nil
	}
	if !w.options.StripSignatures {
		return false, &SignedError{Jar: jar, Signature: signed}
	}
	w.report.Stripped = append(w.report.Stripped, jar)
	return true, nil
}

// entries passes each entry of a jar through what it needs and hands it to
// put, in order. prefix is what the paths of its entries begin with.
func (w *rewriter) entries(files []*zip.File, jar, prefix string, depth int, put func(*zip.File, outcome) error) error {
	start := func(i int) (<-chan outcome, error) {
		f := files[i]
		if err := w.ctx.Err(); err != nil {
			return nil, err
		}
		if err := checkName(jar, f.Name); err != nil {
			return nil, err
		}
		if isNestedName(f.Name) || !w.wants(prefix+f.Name) {
			return nil, nil
		}
		seq := w.nextSeq()
		return w.pool.submit(func(k *worker) outcome { return w.class(k, f, jar, prefix, seq) }), nil
	}
	return w.pool.inOrder(len(files), start, func(i int, o outcome) error {
		f := files[i]
		before := w.done.done
		if isNestedName(f.Name) && (w.wanted == nil || w.wanted(prefix+f.Name+"!/")) {
			if o = w.nested(f, jar, prefix, depth); o.err != nil {
				return o.err
			}
		} else if o.changed {
			w.report.Changed++
		}
		if err := put(f, o); err != nil {
			return located(jar+"!/"+f.Name, err)
		}
		w.done.add(max(0, int64(f.CompressedSize64)-(w.done.done-before)))
		return nil
	})
}

// wants reports whether an entry is a class to be read.
func (w *rewriter) wants(path string) bool {
	if w.wanted != nil {
		return w.wanted(path)
	}
	return isClassName(path)
}

// class unpacks, transforms and packs one class, on a worker.
func (w *rewriter) class(k *worker, f *zip.File, jar, prefix string, seq int) outcome {
	if err := w.ctx.Err(); err != nil {
		return outcome{err: err}
	}
	data, err := w.unpack.read(f, jar+"!/"+f.Name, maxClassFile)
	if err != nil {
		return outcome{err: err}
	}
	o := k.transformed(Entry{Path: prefix + f.Name, Data: data, Seq: seq})
	if o.changed && f.Method == zip.Deflate {
		o.packed, o.err = k.deflate(o.data)
	}
	return o
}

// nested rewrites a jar inside a jar in memory. It is unchanged where none of
// its classes changed: then its signature, if any, still holds as well.
func (w *rewriter) nested(f *zip.File, jar, prefix string, depth int) outcome {
	where := jar + "!/" + f.Name
	data, err := w.unpack.read(f, where, maxNestedJar)
	if err != nil {
		return outcome{err: err}
	}
	return w.nestedBytes(data, where, prefix+f.Name+"!/", depth)
}

// nestedBytes rewrites a jar that lies in memory.
func (w *rewriter) nestedBytes(data []byte, where, prefix string, depth int) outcome {
	r, err := parseNested(data, where, depth)
	if errors.Is(err, errNotJar) {
		w.report.NotJars = append(w.report.NotJars, where)
		return outcome{}
	}
	if err != nil {
		return outcome{err: err}
	}
	w.report.Nested++
	outcomes := make([]outcome, 0, len(r.File))
	changed := false
	err = w.entries(r.File, where, prefix, depth+1, func(_ *zip.File, o outcome) error {
		changed = changed || o.changed
		outcomes = append(outcomes, o)
		return nil
	})
	if err != nil || !changed {
		return outcome{err: err}
	}
	strip, err := w.checkSignature(where, r.File)
	if err != nil {
		return outcome{err: err}
	}
	out, err := assemble(r, data, outcomes, strip)
	if err != nil {
		return outcome{err: located(where, err)}
	}
	return outcome{changed: true, data: out}
}

// assemble writes a jar from the outcomes of its entries.
func assemble(r *zip.Reader, old []byte, outcomes []outcome, strip bool) ([]byte, error) {
	lead, err := leadIn(bytes.NewReader(old), r.File)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	jw, err := newJarWriter(&buf, r, lead, strip)
	if err != nil {
		return nil, err
	}
	for i, f := range r.File {
		if err := jw.put(f, outcomes[i]); err != nil {
			return nil, err
		}
	}
	if err := jw.zw.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// maxLeadIn bounds what may stand before the first entry of a jar.
const maxLeadIn = 64 << 20

// leadIn returns what stands before the first entry, such as a script that
// starts the jar.
func leadIn(src io.ReaderAt, files []*zip.File) ([]byte, error) {
	if len(files) == 0 {
		return nil, nil
	}
	first := files[0]
	firstBody := int64(-1)
	for _, f := range files {
		at, err := f.DataOffset()
		if err != nil {
			return nil, err
		}
		if firstBody < 0 || at < firstBody {
			first, firstBody = f, at
		}
	}
	// Between the local header and the content stand the name and an extra
	// field of at most 65535 bytes, whose length only the header knows.
	const fixed = 30
	nearest := firstBody - fixed - int64(len(first.Name))
	farthest := max(0, nearest-0xFFFF)
	if nearest < 0 {
		return nil, zip.ErrFormat
	}
	window := make([]byte, firstBody-farthest)
	if _, err := src.ReadAt(window, farthest); err != nil {
		return nil, err
	}
	for at := int(nearest - farthest); at >= 0; at-- {
		head := window[at:]
		if bytes.HasPrefix(head, []byte("PK\x03\x04")) && at+fixed+int(le16(head[26:]))+int(le16(head[28:])) == len(window) {
			size := farthest + int64(at)
			if size > maxLeadIn {
				return nil, zip.ErrFormat
			}
			lead := make([]byte, size)
			_, err := src.ReadAt(lead, 0)
			return lead, err
		}
	}
	return nil, zip.ErrFormat
}

func le16(b []byte) uint16 { return uint16(b[0]) | uint16(b[1])<<8 }

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
		data, err := newUnpacker(int64(f.CompressedSize64)).read(f, f.Name, maxManifest)
		if err != nil {
			return err
		}
		o = outcome{changed: true, data: stripManifest(data)}
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
		if body = o.packed; body == nil {
			var err error
			if body, err = (&worker{}).deflate(o.data); err != nil {
				return err
			}
		}
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
		return fmt.Errorf("a directory entry has content: %w", zip.ErrFormat)
	}
	head := f.FileHeader
	head.Method, head.Flags = zip.Store, head.Flags&^8
	head.CRC32, head.CompressedSize64 = 0, 0
	head.Extra = withoutZip64(head.Extra)
	_, err := jw.zw.CreateRaw(&head)
	return err
}
