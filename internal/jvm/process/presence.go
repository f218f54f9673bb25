package process

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
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
