package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A Presence says whether Sonde is in a JVM.
type Presence string

// What there is to tell. Where we may not look it is unknown.
const (
	Inside          Presence = "yes"     // an arena is mapped: methods may be woven
	Packed          Presence = "pack"    // the same, by an agent that was given a pack: there is no Sonde
	Standby         Presence = "standby" // the agent came with -javaagent and waits to be invited
	Outside         Presence = "no"
	PresenceUnknown Presence = "unknown"
)

// arenaName is what arenas are called, whichever Sonde made them.
var arenaName = regexp.MustCompile(`^sonde-[0-9]{1,10}-[0-9a-f]{16}\.arena$`)

// packArenaName is what the agent of a pack calls its own: in /tmp, and in a directory
// that it was given.
var packArenaName = regexp.MustCompile(`^sonde-[0-9]{1,10}(?:-[0-9]{1,2}|-[0-9a-f]{26})?\.arena$`)

// ticketText is what an agent that waits has written: 32 hexadecimal digits.
var ticketText = regexp.MustCompile(`^[0-9a-f]{32}\n?$`)

// ArenaName is a name for an arena of a process, random being 16 hexadecimal
// digits. By it an arena is known in a process's memory.
func ArenaName(namespacePID int, random string) string {
	return fmt.Sprintf("sonde-%d-%s.arena", namespacePID, random)
}

// IsArena tells whether a path is called as an arena is, a Sonde's or a pack's.
func IsArena(name string) bool { return arenaName.MatchString(path.Base(name)) || isPackArena(name) }

func isPackArena(name string) bool { return packArenaName.MatchString(path.Base(name)) }

// TicketName is the file in the JVM's /tmp by which an agent that came with
// -javaagent says that it waits.
func TicketName(namespacePID int) string { return fmt.Sprintf(".sonde_pid%d", namespacePID) }

// ParseTicket reads a ticket's text.
func ParseTicket(text []byte) (ticket string, ok bool) {
	return strings.TrimSpace(string(text)), ticketText.Match(text)
}

// startSlack is how much earlier than its process a file may seem to have been
// written: /proc counts in hundredths, and clocks are set by little steps.
const startSlack = 2 * time.Second

// StartedAfter tells that a file was there before the process, so it is of an
// earlier one with its number.
func (j *JVM) StartedAfter(written time.Time) bool {
	return written.Before(j.Started.Add(-startSlack))
}

// HasArena tells whether an arena of the name is mapped.
func (j *JVM) HasArena(name string) bool {
	return slices.ContainsFunc(j.Arenas, func(arena string) bool { return path.Base(arena) == path.Base(name) })
}

func (h Host) presence(j *JVM) Presence {
	switch {
	case j.Pack != nil && j.Pack.Arena != "":
		return Packed
	case len(j.Arenas) > 0:
		return Inside
	case h.Waits(j):
		return Standby
	}
	return Outside
}

func (m *mapped) addArena(file string) {
	if !slices.Contains(m.arenas, file) {
		m.arenas = append(m.arenas, file)
	}
}

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
