// Package pack reads and writes packs: files that hold the woven form of a program's classes.
// With a pack, the agent replaces classes by their woven form as they load, without a running
// Sonde (docs/formats/pack.md).
//
// The agent reads the beginning of the file, up to the last delta (the front); the description, at
// the end, is only for Sonde. A woven class is stored as a delta to the original: this
// keeps packs small, and nobody can read woven code without the class it was made for.
package pack

import (
	"errors"
	"fmt"

	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// Content returns what the pack holds, its classes in order and without their woven form.
// It must not be modified.
func (p *Pack) Content() *Content { return p.content }

// Has reports whether the pack holds classes of a name. An agent computes the checksums of
// such classes only.
func (p *Pack) Has(name string) bool { return p.first(name) >= 0 }

// Find returns the woven form of a class file. It compares the checksums that the agent
// compares, and the SHA-256. A class that differs from the packed one in any byte is not
// found.
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

// first returns the index of the first record of a name, or -1.
func (p *Pack) first(name string) int {
	all, err := units(name)
	if err != nil {
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
		// Two names may have the same hash.
		if p.records[n-1][recordHash] == h && p.content.Classes[n-1].Entry.Class == name {
			return n - 1
		}
	}
}

// Sizes are the sizes of the parts of a pack in bytes, and counts of its contents.
type Sizes struct {
	File       int64 `json:"file"`
	Lookup     int64 `json:"lookup"`     // index, records and names
	Watches    int64 `json:"watches"`    // the table, anchors and bridges
	Dictionary int64 `json:"dictionary"` // bytes that deltas have in common
	Image      int64 `json:"image"`      // of the arena
	Deltas     int64 `json:"deltas"`
	Cold       int64 `json:"cold"` // the description, which only Sonde reads

	Classes  int   `json:"classes"`
	Methods  int   `json:"methods"`  // woven methods
	Original int64 `json:"original"` // all original class files
	Woven    int64 `json:"woven"`    // all woven class files
}

// Sizes returns the sizes of the pack.
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

// A Content is everything that a pack holds. The same content gives the same bytes: a pack
// contains no times and no absolute paths.
type Content struct {
	Build   string          // agent.AgentBuild of the agent whose hooks the woven code calls
	Engine  string          // cache.Engine of the weaver
	Title   string          // base names of the inputs, for people
	Probes  []byte          // probes.yaml as it was read
	Watches control.Watches // the actions of the hooks; Fresh is not stored
	Names   []Name          // of the spots that measure calls
	Records []Record        // what templates of the user record
	Tags    []string        // their names by number; empty in packs of earlier versions, where they have the order of Probes
	Classes []Class
	Left    []Left
}

// A Name identifies a spot.
type Name struct {
	ID                        uint32
	Class, Method, Descriptor string // as in class files
	Probe, Sequence           string
	Groups                    []string // tags by which its results are grouped
}

// A Record is the spot of a template of the user, or of what it records under a name.
type Record struct {
	ID           uint32
	Probe        string
	weave.Record          // its name is empty for the template, whose undecided calls are its failures
	Groups       []string // tags by which its results are grouped
}

// A Class is a woven class. Classes of a pack are sorted by name, then by original.
type Class struct {
	// Entry is the result of weaving. When read from a pack it has no woven class, which
	// Find computes from the original. The time it was made is not stored.
	Entry *cache.Entry
	// Original is the class file that was woven; nil when read from a pack.
	Original []byte
}

// A Left is a class or method that matches a probe and is not woven.
type Left struct {
	Class  string // internal name
	Method string // name and descriptor; empty for the whole class
	Reason string
}

// The kinds of a FileError, for errors.Is.
var (
	ErrNotPack = errors.New("it is not a Sonde pack: name a file that `sonde pack` wrote")
	ErrVersion = errors.New("it was made by another version of Sonde: make it again with `sonde pack`")
	ErrDamaged = errors.New("it is damaged: make it again with `sonde pack`")
)

// A FileError reports a pack that cannot be read.
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

func damaged(format string, args ...any) *FileError {
	return &FileError{Kind: ErrDamaged, Detail: fmt.Sprintf(format, args...)}
}
