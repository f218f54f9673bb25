// Package pack reads and writes packs: files with the woven form of a program's classes,
// made ahead, by which an agent weaves as they load without a Sonde
// (docs/formats/pack.md).
//
// What the agent reads (the front and the deltas) is apart from what only Sonde does. A
// woven class is kept as what it takes to make it of the original: packs are small, and
// nobody gets woven code without having the class it was made for.
package pack

import (
	"errors"
	"fmt"

	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// ErrClosed says that a pack was closed.
var ErrClosed = errors.New("the pack was closed")

// Close gives up what was read; contents and entries that were had stay.
func (p *Pack) Close() error {
	p.file, p.records = nil, nil
	return nil
}

// Content is what the pack holds, its classes in order, without their woven form. It is
// not to be changed.
func (p *Pack) Content() (*Content, error) {
	if p.file == nil {
		return nil, ErrClosed
	}
	return p.content, nil
}

// Image is how the arena begins that an agent makes for the pack. It is not to be changed.
func (p *Pack) Image() (*arena.Image, error) {
	if p.file == nil {
		return nil, ErrClosed
	}
	image := p.header.arena
	image.Bytes = p.bytes(p.header.parts.image)
	return &image, nil
}

// Has reports whether classes of this name are in the pack: whether an agent looks at
// the bytes of one.
func (p *Pack) Has(name string) bool { return p.first(name) >= 0 }

// Find gives what becomes of a class file: as the agent finds it, and by its SHA-256
// besides. A class that differs from the packed one in anything is not found.
func (p *Pack) Find(name string, file []byte) (*cache.Entry, bool) {
	for i := p.first(name); i >= 0; i = int(p.records[i][recordNext]) - 1 {
		r, e := &p.records[i], p.content.Classes[i].Entry
		if !r.is(file) || cache.OriginalOf(file) != e.Original {
			continue
		}
		deltas := p.bytes(p.header.parts.deltas)
		delta := deltas[r[recordDelta]:][:r[recordDeltaSize]]
		woven, made := apply(delta, file, p.bytes(p.header.parts.dictionary), int(r[recordWovenSize]))
		if !made || sum(woven) != r[recordWovenSum] {
			return nil, false
		}
		found := *e
		found.Woven = woven
		return &found, true
	}
	return nil, false
}

// first is the first record of a name; -1 where there is none.
func (p *Pack) first(name string) int {
	all, err := units(name)
	if err != nil || p.file == nil {
		return -1
	}
	h := hash(all)
	index := p.bytes(part{p.header.parts.index.at, slotBytes * p.header.parts.index.size})
	slots := int(p.header.parts.index.size)
	for at := slotOf(h, slots); ; at = (at + 1) % slots {
		n := int(readSlot(index, at))
		if n == 0 {
			return -1
		}
		// Names are told apart by what the record's is: two may have one hash.
		if p.records[n-1][recordHash] == h && p.content.Classes[n-1].Entry.Class == name {
			return n - 1
		}
	}
}

// Sizes are how much of a pack is what, in bytes, and of what it holds.
type Sizes struct {
	File       int64 `json:"file"`
	Lookup     int64 `json:"lookup"`     // index, records and names
	Watches    int64 `json:"watches"`    // the table, anchors and bridges
	Dictionary int64 `json:"dictionary"` // what deltas have in common
	Image      int64 `json:"image"`      // of the arena
	Deltas     int64 `json:"deltas"`
	Cold       int64 `json:"cold"` // what only Sonde reads

	Classes  int   `json:"classes"`
	Methods  int   `json:"methods"`  // that were woven
	Original int64 `json:"original"` // class files as they were
	Woven    int64 `json:"woven"`    // and as they become
}

// Sizes tells what of the pack is how large.
func (p *Pack) Sizes() Sizes {
	h := p.header.parts
	s := Sizes{
		File:       int64(p.header.length),
		Lookup:     int64(h.table.at - h.index.at),
		Watches:    int64(h.dictionary.at - h.table.at),
		Dictionary: int64(h.dictionary.size),
		Image:      int64(h.image.size),
		Deltas:     int64(h.deltas.size),
		Cold:       int64(h.cold.size),
		Classes:    len(p.records),
	}
	for i := range p.records {
		s.Methods += int(p.records[i][recordMethods])
		s.Original += int64(p.records[i][recordSize])
		s.Woven += int64(p.records[i][recordWovenSize])
	}
	return s
}

// A Content is all that a pack holds. The same content makes the same bytes: a pack has
// no times, and no paths of machines.
type Content struct {
	Build   string          // of the agent whose hooks the woven code calls: agent.AgentBuild
	Engine  string          // that wove the classes: cache.Engine
	Title   string          // base names of what was packed, for people
	Probes  []byte          // probes.yaml as it was read
	Watches control.Watches // what the hooks do; Fresh is not kept
	Names   []Name          // of the spots
	Classes []Class
	Left    []Left
}

// A Name says what a spot is.
type Name struct {
	ID                        uint32
	Class, Method, Descriptor string // as class files have them
	Probe, Sequence           string
	Groups                    []string // tags its results are by
}

// A Class is one that was woven. The order of classes in a pack is by name, then by
// original.
type Class struct {
	// Entry is what became of it. Of one that was read from a pack there is no woven class:
	// Find makes that of the original. When it was made is not kept.
	Entry *cache.Entry
	// Original is the class file that was woven; nil where it was read from a pack.
	Original []byte
}

// A Left is a class, or a method, that probes match and that is not woven.
type Left struct {
	Class  string // internal name
	Method string // name and descriptor; empty where it is the whole class
	Reason string
}

// What can be the matter with a pack, for errors.Is.
var (
	ErrNotPack = errors.New("it is no pack of Sonde's: name a file that `sonde pack` made")
	ErrVersion = errors.New("it was made by another version of Sonde: make it again with `sonde pack`")
	ErrDamaged = errors.New("it is damaged: make it again with `sonde pack`")
)

// A FileError is a pack that cannot be read, or a class of it that cannot be had.
type FileError struct {
	Path   string
	Kind   error // ErrNotPack, ErrVersion or ErrDamaged
	Detail string
}

func (e *FileError) Error() string {
	text := fmt.Sprintf("pack %s: %v", e.Path, e.Kind)
	if e.Detail != "" {
		text += " (" + e.Detail + ")"
	}
	return text
}

func (e *FileError) Unwrap() error { return e.Kind }

func damaged(format string, args ...any) error {
	return &FileError{Kind: ErrDamaged, Detail: fmt.Sprintf(format, args...)}
}
