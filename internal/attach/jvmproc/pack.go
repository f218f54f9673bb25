package jvmproc

import (
	"fmt"
	"path"
	"strings"
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

// pack is what is known of the pack in a JVM; nil where there is none, or its arena is
// mapped no more.
func (h Host) pack(j *JVM) *Pack {
	p, ok := h.PackNotice(j)
	if !ok || p.Arena != "" && !h.isMapped(j.PID, path.Base(p.Arena)) {
		return nil
	}
	return &p
}
