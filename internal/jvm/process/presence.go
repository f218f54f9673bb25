package process

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A Presence says whether Sonde is inside a JVM.
type Presence string

// The kinds of presence; unknown if we may not inspect the JVM.
const (
	Inside          Presence = "yes"     // an arena is mapped: methods may be woven
	Packed          Presence = "pack"    // the same, by an agent with a pack, without a Sonde
	Standby         Presence = "standby" // the agent came with -javaagent and waits to be invited
	Outside         Presence = "no"
	PresenceUnknown Presence = "unknown"
)

// arenaName matches the names of arenas that any Sonde has made.
var arenaName = regexp.MustCompile(`^sonde-[0-9]{1,10}-[0-9a-f]{16}\.arena$`)

// packArenaName matches the names of arenas that the agent of a pack makes in /tmp or in a given
// directory.
var packArenaName = regexp.MustCompile(`^sonde-[0-9]{1,10}(?:-[0-9]{1,2}|-[0-9a-f]{26})?\.arena$`)

// ticketText matches the ticket of a waiting agent: 32 hexadecimal digits.
var ticketText = regexp.MustCompile(`^[0-9a-f]{32}\n?$`)

// ArenaName returns a name for the arena of a process; random has 16 hexadecimal digits. The name
// identifies a mapped arena.
func ArenaName(namespacePID int, random string) string {
	return fmt.Sprintf("sonde-%d-%s.arena", namespacePID, random)
}

// IsArena reports whether a path has the name of an arena, of a Sonde or a pack.
func IsArena(name string) bool { return arenaName.MatchString(path.Base(name)) || isPackArena(name) }

func isPackArena(name string) bool { return packArenaName.MatchString(path.Base(name)) }

// TicketName returns the name of the file in the JVM's /tmp by which an agent loaded with -javaagent
// announces that it waits.
func TicketName(namespacePID int) string { return fmt.Sprintf(".sonde_pid%d", namespacePID) }

// ParseTicket parses the text of a ticket.
func ParseTicket(text []byte) (ticket string, ok bool) {
	return strings.TrimSpace(string(text)), ticketText.Match(text)
}

// Waits reports whether an agent in the JVM, loaded with -javaagent, waits for an invitation.
func (h Host) Waits(j *JVM) bool {
	text, err := h.readNote(j, TicketName(j.NamespacePID))
	_, ok := ParseTicket(text)
	return ok && err == nil
}

var errNotNote = errors.New("the agent's file in /tmp was not written by the JVM, or other users can access it")

// readNote reads a file that an agent has written into the JVM's /tmp. Anyone may have created one of
// its name there, so it must belong to the JVM's user, be private, and be no older than the process.
func (h Host) readNote(j *JVM, name string) ([]byte, error) {
	const most = 16 << 10
	file, err := h.openPlainInside(j, "/tmp/"+name, os.O_RDONLY|syscall.O_NOFOLLOW, func(info os.FileInfo, owner uint32) error {
		if owner != j.UID || info.Mode().Perm()&0o077 != 0 || j.StartedAfter(info.ModTime()) {
			return errNotNote
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, most))
}

// startSlack is how much earlier than its process a file may seem to have been written: /proc counts
// in hundredths of a second, and clocks are adjusted in small steps.
const startSlack = 2 * time.Second

// StartedAfter reports whether a file is older than the process, so that it belongs to an earlier
// process with its PID.
func (j *JVM) StartedAfter(written time.Time) bool {
	return written.Before(j.Started.Add(-startSlack))
}

// HasArena reports whether an arena of this name is mapped.
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

// A Pack is the description of a pack by the agent of a JVM that was started with it.
type Pack struct {
	Arena string // path of the arena that it measures into, as the JVM sees it; empty for none
	Path  string // of the pack, as the JVM sees it
	// Problem is the reason why nothing is measured; empty if the pack is in use.
	Problem string
}

// PackNoticeName returns the name of the file in the JVM's /tmp that describes the pack of its agent.
func PackNoticeName(namespacePID int) string { return fmt.Sprintf(".sonde_pack%d", namespacePID) }

// ParsePackNotice parses this file: the path of the arena and the path of the pack, a line each. If
// the pack is not in use, the first line is empty and the reason follows.
func ParsePackNotice(text []byte) (p Pack, ok bool) {
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) < 2 {
		return Pack{}, false
	}
	p = Pack{Arena: lines[0], Path: lines[1]}
	if p.Arena == "" {
		if p.Problem = strings.Join(lines[2:], " "); p.Problem == "" {
			p.Problem = "the agent reported no reason"
		}
	}
	return p, true
}

// PackNotice reads the description of a pack; false if there is none.
func (h Host) PackNotice(j *JVM) (Pack, bool) {
	text, err := h.readNote(j, PackNoticeName(j.NamespacePID))
	if err != nil {
		return Pack{}, false
	}
	return ParsePackNotice(text)
}

// holder begins the owner's command in the arena of a pack; the path of the pack follows.
const holder = "pack "

// StatedPack returns the path of the pack that an arena belongs to, according to its owner; false if
// the owner is a Sonde.
func StatedPack(owner arena.Owner) (name string, is bool) {
	if name, is = strings.CutPrefix(owner.Command, holder); !is || owner.Sonde != 0 {
		return "", false
	}
	return name, true
}

// pack returns the pack in a JVM; nil if there is none, or if its arena is no longer mapped.
func (h Host) pack(j *JVM, arenas []string) *Pack {
	if p, ok := h.PackNotice(j); ok && (p.Arena == "" || h.hasMapped(j, p.Arena)) {
		return &p
	}
	return h.unannounced(j, arenas)
}

// hasMapped reports whether a JVM shares memory with a file, which may have been deleted.
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

// unannounced finds a pack without a notice, which may have been removed from /tmp by age or belong
// to another user, by the owner of its arena.
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
