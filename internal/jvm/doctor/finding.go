package doctor

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
