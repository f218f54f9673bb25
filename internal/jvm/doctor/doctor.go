// Package doctor examines whether Sonde can enter a JVM, before anything is done to it: what prevents it,
// what it will cost, and which other tools are inside.
//
// Gather collects facts and decides nothing; Judge decides and reads nothing, so every judgement can be
// tested as a row of a table. Most facts come from /proc. Flags and properties come from the JVM itself,
// over the attach protocol, which changes nothing except that the JVM listens from then on.
package doctor

import (
	"fmt"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// Facts are the facts about a JVM. Zero values are unknown, unless a field says otherwise.
type Facts struct {
	JVM      process.JVM
	UID, GID int // of this process

	// Invited means that Sonde's agent was loaded at the start (-javaagent) and waits, so that
	// attaching is not needed.
	Invited bool

	// TracksDependencies says whether the JVM's library can record, from the start, which compiled
	// code depends on which class.
	TracksDependencies process.Answer

	Environment map[string]string // the variables that hold options of JVMs
	Asked       bool              // the JVM answered, so the next three are known
	Arguments   []string          // its options from all sources, split at spaces
	Flags       map[string]string // flags without their default values
	Properties  map[string]string
	AskError    error // why it did not answer

	Sampling process.Verdict // whether the kernel can sample it; a reason holds the remedy

	Agents []Agent
	Memory Memory
	Tmp    Place // the JVM's own /tmp
	Shm    Place // its /dev/shm
}

// Memory is the tightest memory limit of a process.
type Memory struct {
	Limit int64 // 0 for none or unknown
	Used  int64 // without memory that the kernel can reclaim
}

// A Place is a directory of the JVM for files of Sonde.
type Place struct {
	Known            bool
	ReadOnly, NoExec bool
	Size, Free       int64
	Denied           bool // this user is not allowed to open it
}

// An Agent is another tool inside the JVM.
type Agent struct {
	Name    string
	Trait   Trait
	Path    string // of its jar or library
	AtStart bool   // loaded by an option, not later
}

// A Trait is the effect of an agent on classes.
type Trait string

// The traits.
const (
	Transforms Trait = "transforms classes as they are loaded"
	Redefines  Trait = "redefines loaded classes on command"
	Samples    Trait = "does not change classes"
	Debugs     Trait = "is a debugger"
)

// flag returns the value of a boolean flag.
func (f *Facts) flag(name string, byDefault bool) bool {
	switch f.Flags[name] {
	case "true":
		return true
	case "false":
		return false
	}
	return byDefault
}

// A Severity is the importance of a finding.
type Severity int

// The severities, in ascending order.
const (
	OK   Severity = iota
	Note          // good to know
	Warn          // something will be slow or missing
	Stop          // Sonde cannot work
)

func (s Severity) String() string {
	switch s {
	case OK:
		return "ok"
	case Note:
		return "note"
	case Warn:
		return "warn"
	case Stop:
		return "stop"
	}
	return "unknown"
}

// MarshalText returns the severity as a word.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText returns.
func (s *Severity) UnmarshalText(text []byte) error {
	for one := OK; one <= Stop; one++ {
		if one.String() == string(text) {
			*s = one
			return nil
		}
	}
	return fmt.Errorf("%q is no severity", text)
}

// A Finding is the result of one check.
type Finding struct {
	Severity Severity `json:"severity"`
	Subject  string   `json:"subject"` // one or two words, the same for each JVM
	Text     string   `json:"text"`
	Remedy   string   `json:"remedy,omitempty"` // "" if there is none or none is needed
}

// Worst returns the highest severity of findings.
func Worst(findings []Finding) Severity {
	worst := OK
	for _, f := range findings {
		worst = max(worst, f.Severity)
	}
	return worst
}
