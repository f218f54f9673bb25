package arenatest

import (
	"encoding/binary"
	"os"
	"testing"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A File is an arena that a test writes, as hooks would.
type File struct {
	*arena.Arena
	Path string

	t      testing.TB
	file   *os.File
	layout *layout
}

// Length is that of the arenas made here, all of which is allocated.
const Length = 1 << 20

// Make makes an arena with the pieces that one of a pack has.
func Make(t testing.TB, path string, owner arena.Owner, methods ...arena.Method) *File {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	if err := file.Truncate(Length); err != nil {
		t.Fatal(err)
	}
	a, err := arena.Create(file, Length, owner)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	f := &File{Arena: a, Path: path, t: t, file: file, layout: readLayout(t)}
	for _, err := range []error{a.MakeSpill(64), a.MakeArrivals(), a.MakeAccount(), a.Describe(methods)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// Account notes what became of classes; lines are as the agent writes them.
func (f *File) Account(woven, differs, blind, failed uint32, lines string) {
	at := int64(f.u32(f.place("header.account"))) * f.unit()
	for name, n := range map[string]uint32{"woven": woven, "differs": differs, "blind": blind, "failed": failed, "names_used": uint32(len(lines))} {
		f.put32(at+f.place("account."+name), n)
	}
	f.put(at+f.layout.sizes["account"], []byte(lines))
}

// Tell writes an arrival: what a label stands for.
func (f *File) Tell(id uint32, text string) {
	ticket := f.u64(f.place("header.arrivals_next")) + 1
	slot := int64(f.u32(f.place("header.arrivals")))*f.unit() + int64(ticket-1)%f.layout.consts["ARRIVALS"]*f.layout.sizes["arrival"]
	f.put32(slot+f.place("arrival.id"), id)
	f.put32(slot+f.place("arrival.length"), uint32(len(text)))
	f.put(slot+f.place("arrival.text"), []byte(text))
	f.put64(slot+f.place("arrival.ticket"), ticket)
	f.put64(f.place("header.arrivals_next"), ticket)
}

// SetOpenedNanos notes what the target's clock read when it opened the arena.
func (f *File) SetOpenedNanos(nanos int64) { f.put64(f.place("header.opened_nanos"), uint64(nanos)) }

// SetDropped notes calls that nothing could count.
func (f *File) SetDropped(calls uint64) { f.put64(f.place("header.dropped"), calls) }

// Damage overwrites bytes at a place of a struct that a field of the header leads to.
func (f *File) Damage(field string, offset int64, with ...byte) {
	f.put(int64(f.u32(f.place("header."+field)))*f.unit()+offset, with)
}

// Spoil overwrites a field of the header.
func (f *File) Spoil(field string, value uint32) { f.put32(f.place("header."+field), value) }

func (f *File) unit() int64 { return f.layout.consts["UNIT"] }

func (f *File) place(field string) int64 {
	at, is := f.layout.places[field]
	if !is {
		f.t.Fatalf("layout.table has no %s", field)
	}
	return at
}

// take reserves a piece.
func (f *File) take(bytes int64) (ref uint32) {
	next := f.u64(f.place("header.next"))
	size := (bytes + f.unit() - 1) / f.unit() * f.unit()
	if int64(next)+size > Length {
		f.t.Fatal("the test's arena is too small")
	}
	f.put64(f.place("header.next"), next+uint64(size))
	return uint32(int64(next) / f.unit())
}

// What is written goes through the file, which the mapping shares.

func (f *File) put(at int64, data []byte) {
	if _, err := f.file.WriteAt(data, at); err != nil {
		f.t.Fatal(err)
	}
}

func (f *File) put32(at int64, n uint32) { f.put(at, binary.NativeEndian.AppendUint32(nil, n)) }
func (f *File) put64(at int64, n uint64) { f.put(at, binary.NativeEndian.AppendUint64(nil, n)) }

func (f *File) get(at, size int64) []byte {
	data := make([]byte, size)
	if _, err := f.file.ReadAt(data, at); err != nil {
		f.t.Fatal(err)
	}
	return data
}

func (f *File) u32(at int64) uint32 { return binary.NativeEndian.Uint32(f.get(at, 4)) }
func (f *File) u64(at int64) uint64 { return binary.NativeEndian.Uint64(f.get(at, 8)) }

// Self is a field of the header as bytes: a ref to what it leads to.
func (f *File) Self(field string) []byte { return f.get(f.place("header."+field), 4) }
