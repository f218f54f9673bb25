package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A Pack is what the agent of a JVM that was started with a pack says of it.
type Pack struct {
	Arena string // that it measures into, as the JVM sees it; empty where it does not
	Path  string // of the pack, as the JVM sees it
	// Problem is why nothing is measured; empty where the pack is in.
	Problem string
}

// PackNoticeName is the file in the JVM's /tmp by which an agent that was given a pack
// tells of it.
func PackNoticeName(namespacePID int) string { return fmt.Sprintf(".sonde_pack%d", namespacePID) }

// ParsePackNotice reads what such an agent has written: the arena's path and the pack's, a
// line each; where the pack is not in, an empty line, the pack's path, and why.
func ParsePackNotice(text []byte) (p Pack, ok bool) {
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) < 2 {
		return Pack{}, false
	}
	p = Pack{Arena: lines[0], Path: lines[1]}
	if p.Arena == "" {
		if p.Problem = strings.Join(lines[2:], " "); p.Problem == "" {
			p.Problem = "why is not known"
		}
	}
	return p, true
}

// PackNotice is what the agent of a pack says now; false where there is none, or it says
// nothing any more.
func (h Host) PackNotice(j *JVM) (Pack, bool) {
	text, err := h.readNote(j, PackNoticeName(j.NamespacePID))
	if err != nil {
		return Pack{}, false
	}
	return ParsePackNotice(text)
}

// holder begins what the agent of a pack calls itself in its arena; the pack's path follows.
const holder = "pack "

// StatedPack is the path of the pack whose agent an arena is of, by what it says of its
// owner; false where it is a Sonde's.
func StatedPack(owner arena.Owner) (name string, is bool) {
	if name, is = strings.CutPrefix(owner.Command, holder); !is || owner.Sonde != 0 {
		return "", false
	}
	return name, true
}

// pack is what is known of the pack in a JVM; nil where there is none, or its arena is
// mapped no more.
func (h Host) pack(j *JVM, arenas []string) *Pack {
	if p, ok := h.PackNotice(j); ok && (p.Arena == "" || h.hasMapped(j, p.Arena)) {
		return &p
	}
	return h.unannounced(j, arenas)
}

// hasMapped tells whether a JVM shares memory with a file, which may be gone by now.
func (h Host) hasMapped(j *JVM, name string) bool {
	file, err := h.OpenMapped(j, name, os.O_RDONLY)
	if err == nil {
		_ = file.Close()
		return true
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	shared, _ := h.shared(j.PID)
	return slices.ContainsFunc(shared, func(m mapping) bool { return m.deleted && path.Base(m.file) == path.Base(name) })
}

// unannounced finds the pack whose notice is missing, as where what is old was removed
// from /tmp, or another user has its name: by its arena, which says whose it is.
func (h Host) unannounced(j *JVM, arenas []string) *Pack {
	for _, name := range arenas {
		if !isPackArena(name) {
			continue
		}
		if stated, is := h.statedBy(j, name); is {
			return &Pack{Arena: name, Path: stated}
		}
	}
	return nil
}

func (h Host) statedBy(j *JVM, name string) (stated string, is bool) {
	file, err := h.OpenMapped(j, name, os.O_RDONLY)
	if err != nil {
		return "", false
	}
	defer func() { _ = file.Close() }()
	opened, err := arena.Open(file, false)
	if err != nil {
		return "", false
	}
	defer func() { _ = opened.Close() }()
	owner, err := opened.Owner()
	if err != nil {
		return "", false
	}
	return StatedPack(owner)
}
