package pack

import (
	"encoding/binary"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// TestAgentReadsTheSameHeader compares where the agent looks for what with where it is
// written.
func TestAgentReadsTheSameHeader(t *testing.T) {
	source, err := os.ReadFile("../../../agent/control/src9/sonde/agent/control/PackHeader.java")
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int)
	for _, constant := range regexp.MustCompile(`static final int ([A-Z_]+) = ([0-9]+);`).FindAllSubmatch(source, -1) {
		if got[string(constant[1])], err = strconv.Atoi(string(constant[2])); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]int{
		"BYTES": headerSize, "FRONT_SUM": frontSumAt, "SUMMED": summedFrom, "BUILD": buildAt, "BUILD_BYTES": buildSize,
	}
	for name, set := range headerNumbers() {
		const mark = 0x12345678
		var h header
		set(&h, mark)
		written := h.append(nil)
		for at := 0; at < len(written); at += 4 {
			if binary.LittleEndian.Uint32(written[at:]) == mark {
				want[name] = at
			}
		}
	}
	for name, at := range want {
		if got[name] != at {
			t.Errorf("%s is at %d, and read at %d", name, at, got[name])
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("the agent reads %s, which is not compared", name)
	}
}

// headerNumbers are the numbers of a header, by the names the agent has for them.
func headerNumbers() map[string]func(h *header, n uint32) {
	return map[string]func(h *header, n uint32){
		"LENGTH":            func(h *header, n uint32) { h.length = n },
		"INDEX":             func(h *header, n uint32) { h.parts.index.at = n },
		"INDEX_SLOTS":       func(h *header, n uint32) { h.parts.index.size = n },
		"RECORDS":           func(h *header, n uint32) { h.parts.records.at = n },
		"RECORDS_COUNT":     func(h *header, n uint32) { h.parts.records.size = n },
		"NAMES":             func(h *header, n uint32) { h.parts.names.at = n },
		"TABLE":             func(h *header, n uint32) { h.parts.table.at = n },
		"TABLE_WORDS":       func(h *header, n uint32) { h.parts.table.size = n },
		"ANCHORS":           func(h *header, n uint32) { h.parts.anchors.at = n },
		"ANCHORS_COUNT":     func(h *header, n uint32) { h.parts.anchors.size = n },
		"BRIDGES":           func(h *header, n uint32) { h.parts.bridges.at = n },
		"BRIDGES_COUNT":     func(h *header, n uint32) { h.parts.bridges.size = n },
		"DICTIONARY":        func(h *header, n uint32) { h.parts.dictionary.at = n },
		"DICTIONARY_BYTES":  func(h *header, n uint32) { h.parts.dictionary.size = n },
		"IMAGE":             func(h *header, n uint32) { h.parts.image.at = n },
		"IMAGE_BYTES":       func(h *header, n uint32) { h.parts.image.size = n },
		"DELTAS":            func(h *header, n uint32) { h.parts.deltas.at = n },
		"DELTAS_BYTES":      func(h *header, n uint32) { h.parts.deltas.size = n },
		"ARENA_LENGTH":      func(h *header, n uint32) { h.arena.Length = int64(n) },
		"ARENA_LIMIT":       func(h *header, n uint32) { h.arena.Limit = int64(n) },
		"AT_LIMIT":          func(h *header, n uint32) { h.arena.Places.Limit = n },
		"AT_NEXT":           func(h *header, n uint32) { h.arena.Places.Next = n },
		"AT_EPOCH":          func(h *header, n uint32) { h.arena.Places.Epoch = n },
		"AT_TARGET_PID":     func(h *header, n uint32) { h.arena.Places.TargetPID = n },
		"AT_TARGET_START":   func(h *header, n uint32) { h.arena.Places.TargetStart = n },
		"AT_OPENED_WALL":    func(h *header, n uint32) { h.arena.Places.OpenedWall = n },
		"AT_COMMAND_LENGTH": func(h *header, n uint32) { h.arena.Places.CommandLength = n },
		"AT_COMMAND":        func(h *header, n uint32) { h.arena.Places.Command = n },
		"COMMAND_MOST":      func(h *header, n uint32) { h.arena.Places.CommandMost = n },
		"AT_WOVEN":          func(h *header, n uint32) { h.arena.Places.Woven = n },
		"AT_DIFFERS":        func(h *header, n uint32) { h.arena.Places.Differs = n },
		"AT_BLIND":          func(h *header, n uint32) { h.arena.Places.Blind = n },
		"AT_FAILED":         func(h *header, n uint32) { h.arena.Places.Failed = n },
		"AT_NAMES_USED":     func(h *header, n uint32) { h.arena.Places.NamesUsed = n },
		"AT_TEXT":           func(h *header, n uint32) { h.arena.Places.AccountText = n },
		"TEXT_MOST":         func(h *header, n uint32) { h.arena.Places.AccountedMost = n },
	}
}
