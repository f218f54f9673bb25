// Package arenatest makes arenas for tests, with the content that hooks write: threads, nodes and
// calls under way.
package arenatest

import (
	"bufio"
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A layout is what layout.table says, read by itself: what is made of the table is not
// relied on by what judges its readers.
type layout struct {
	sizes  map[string]int64 // of structs
	places map[string]int64 // "struct.field"
	consts map[string]int64
}

func readLayout(t testing.TB) *layout {
	t.Helper()
	module, err := jvmtest.Module()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(module, "internal", "wire", "arena", "layout.table"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	l := &layout{sizes: map[string]int64{}, places: map[string]int64{}, consts: map[string]int64{}}
	within := ""
	for lines := bufio.NewScanner(file); lines.Scan(); {
		words := strings.Fields(lines.Text())
		switch {
		case len(words) < 3 || words[0] == "#":
		case words[0] == "const":
			l.consts[words[1]], _ = strconv.ParseInt(strings.ReplaceAll(words[2], "_", ""), 0, 64) // those that do not fit are not needed
		case words[0] == "struct":
			within = words[1]
			l.sizes[within] = number(t, words[2])
		default:
			l.places[within+"."+words[2]] = number(t, words[0])
		}
	}
	return l
}

func number(t testing.TB, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("layout.table: %v", err)
	}
	return n
}

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

// AddLabel writes an arrival that describes a label.
func (f *File) AddLabel(id uint32, text string) {
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

// mostNodes is how many a thread of a test has, its root among them.
const mostNodes = 32

// A Thread is one that has called hooks.
type Thread struct {
	file  *File
	block int64
	chunk int64
	root  uint32
	depth uint32
}

// A Node is what a method did in a context.
type Node struct {
	ID         uint32
	Calls      uint64
	Timed      uint64
	Nanos      uint64
	Self       uint64
	Max        uint64
	Threw      uint64
	Undecided  uint64
	Distribute []uint64 // times to be counted by how long they are
}

// Thread adds one.
func (f *File) Thread(tid uint64) *Thread {
	l := f.layout
	frames := l.consts["FIRST_FRAMES"] * l.sizes["frame"]
	blockRef := f.take(l.sizes["block"])
	framesRef := f.take(frames)
	chunkRef := f.take(l.sizes["chunk"] + mostNodes*l.sizes["node"])
	t := &Thread{file: f, block: int64(blockRef) * f.unit(), chunk: int64(chunkRef) * f.unit(), root: chunkRef + uint32(l.sizes["chunk"]/f.unit())}
	f.put32(t.block+f.place("block.frames"), framesRef)
	f.put32(t.block+f.place("block.chunk"), chunkRef)
	f.put32(t.block+f.place("block.root"), t.root)
	f.put32(t.chunk+f.place("chunk.capacity"), mostNodes)
	f.put32(t.chunk+f.place("chunk.used"), 1)
	f.put64(t.block+f.place("block.tid"), tid)
	f.put32(t.block+f.place("block.owners"), 1)
	f.put32(t.block+f.place("block.older"), f.u32(f.place("header.blocks")))
	f.put32(f.place("header.blocks"), blockRef)
	return t
}

// Add adds a node below another, or below the root where that is 0, and gives its ref.
func (t *Thread) Add(below uint32, n Node) (ref uint32) {
	f := t.file
	used := f.u32(t.chunk + f.place("chunk.used"))
	if used == mostNodes {
		f.t.Fatal("the test's thread has too many nodes")
	}
	if below == 0 {
		below = t.root
	}
	at := t.chunk + f.layout.sizes["chunk"] + int64(used)*f.layout.sizes["node"]
	f.put32(at+f.place("node.id"), n.ID)
	f.put32(at+f.place("node.parent"), below)
	for field, value := range map[string]uint64{
		"calls": n.Calls, "timed": n.Timed, "nanos": n.Nanos, "self": n.Self, "max": n.Max, "threw": n.Threw, "undecided": n.Undecided,
	} {
		f.put64(at+f.place("node."+field), value)
	}
	if len(n.Distribute) > 0 {
		spread := f.take(f.layout.sizes["spread"])
		for _, nanos := range n.Distribute {
			bucket := int64(spread)*f.unit() + 4*bucketOf(nanos)
			f.put32(bucket, f.u32(bucket)+1)
		}
		f.put32(at+f.place("node.spread"), spread)
	}
	f.put32(t.chunk+f.place("chunk.used"), used+1)
	return uint32(at / f.unit())
}

// bucketOf is where a time is counted.
func bucketOf(nanos uint64) int64 {
	shift := int64(0)
	for nanos>>shift >= 16 {
		shift++
	}
	return 8*shift + int64(nanos>>shift)
}

// Enter has the thread be in a call that began at a moment and is timed.
func (t *Thread) Enter(node uint32, start int64) {
	f := t.file
	frame := int64(f.u32(t.block+f.place("block.frames")))*f.unit() + int64(t.depth)*f.layout.sizes["frame"]
	f.put32(frame+f.place("frame.node"), node)
	f.put32(frame+f.place("frame.flags"), uint32(f.layout.consts["FRAME_TIMED"]))
	f.put64(frame+f.place("frame.start"), uint64(start))
	t.depth++
	f.put32(t.block+f.place("block.depth"), t.depth)
}
