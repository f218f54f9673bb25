// Package preflight tells what stands between Sonde and a JVM before anything is
// done to it: what forbids it, what will cost, what else is inside.
//
// Gather collects facts and decides nothing; Judge decides and reads nothing, so
// every judgement can be tested as a row of a table. Most facts come from /proc.
// Some only the JVM itself knows: it is asked, by the attach protocol, for its
// flags and properties, which changes nothing in it but that it listens from
// then on.
package doctor

import (
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// Facts are what could be found out. Zero values are not known, unless a field
// says otherwise.
type Facts struct {
	JVM      process.JVM
	UID, GID int // who asks

	// Invited: Sonde's agent was there from the start (-javaagent) and waits, so
	// that attaching is not needed.
	Invited bool

	Modules []string // of the run-time image
	// TracksDependencies: the JVM's library can note, from the start, which
	// compiled code depends on which class.
	TracksDependencies process.Answer

	Environment map[string]string // those variables alone that hold options of JVMs
	Asked       bool              // the JVM answered: the next three are known
	Arguments   []string          // its options from all sources, cut at spaces
	Flags       map[string]string // those that are not as usual
	Properties  map[string]string
	AskError    error // why it did not answer, where it was asked

	Agents []Agent
	Memory Memory
	Tmp    Place // the JVM's own /tmp
	Shm    Place // its /dev/shm
}

// Memory is the tightest limit of memory a process is under.
type Memory struct {
	Limit int64 // 0: none, or not known
	Used  int64 // of it, without what the kernel can take back
}

// A Place is a directory of the JVM where files can be put.
type Place struct {
	Known            bool
	ReadOnly, NoExec bool
	Size, Free       int64
}

// An Agent is another tool inside the JVM.
type Agent struct {
	Name    string
	Trait   Trait
	Path    string // of its jar or library
	AtStart bool   // by an option; else it came later
}

// A Trait is what an agent does to classes.
type Trait string

// The traits told apart.
const (
	Transforms Trait = "transforms classes as they are loaded"
	Redefines  Trait = "redefines loaded classes on command"
	Samples    Trait = "leaves classes alone"
	Debugs     Trait = "is a debugger"
)

// property returns a system property of the JVM.
func (f *Facts) property(name string) (string, bool) {
	value, ok := f.Properties[name]
	return value, ok
}

// flag is a boolean flag's value, which is the usual one unless the JVM says
// otherwise.
func (f *Facts) flag(name string, usual bool) bool {
	switch f.Flags[name] {
	case "true":
		return true
	case "false":
		return false
	}
	return usual
}

// A Severity is how much a finding matters.
type Severity int

// From what needs no thought to what forbids going on.
const (
	OK   Severity = iota
	Note          // good to know
	Warn          // something will cost or be left out
	Stop          // it will not work
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

// MarshalText writes the severity as a word.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// A Finding is one thing that was looked at.
type Finding struct {
	Severity Severity `json:"severity"`
	Subject  string   `json:"subject"` // a word or two, the same each time
	Text     string   `json:"text"`
	Remedy   string   `json:"remedy,omitempty"` // "" where there is none or none is needed
}

// Worst is the gravest severity among findings.
func Worst(findings []Finding) Severity {
	worst := OK
	for _, f := range findings {
		worst = max(worst, f.Severity)
	}
	return worst
}
