package liveprobes

import (
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// A Report is what Apply did.
type Report struct {
	Changes                  []probeset.Change
	Woven, Removed, Switched int                   // spots
	Installation             *session.Installation // what weaving took; nil where nothing was woven
	Probes                   []Applied
	Tags                     []Applied
	// Warnings are what was noticed that a user should read: Options.Notice was told.
	Warnings []string
}

// Applied is what became of a probe or a tag.
type Applied struct {
	Name      string
	Methods   []string // class.name(descriptor) that it acts in, by name
	Anchors   int      // methods of its sequences
	LeftOut   []LeftOut
	Unmatched []string // patterns and elements of sequences that name no method that is loaded
	Redacted  []string // captures whose values are not read
	Traced    int      // methods that can be called below and are traced as well
	Untraced  int      // those beyond the bound, of the same levels
}

// A LeftOut is a method that was named and in which a probe does not act.
type LeftOut struct {
	Method string // class.name(descriptor)
	Err    error
}
