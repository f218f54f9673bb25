package probeset

import (
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/sequence"
)

// tidied is a copy in which what means the same is written the same.
func (s *Set) tidied() *Set {
	copied := &Set{HandOff: s.HandOff, Tags: slices.Clone(s.Tags), Probes: slices.Clone(s.Probes), Weave: slices.Clone(s.Weave)}
	copied.tidy()
	return copied
}

// tidy writes what means the same in one way. Conditions stay as they were written,
// but for blanks around them.
func (s *Set) tidy() {
	for i := range s.Tags {
		t := &s.Tags[i]
		t.Value, t.At = strings.TrimSpace(t.Value), tidyPattern(t.At)
	}
	for i := range s.Probes {
		p := &s.Probes[i]
		p.Methods = tidyTexts(p.Methods, tidyPattern)
		p.Within = tidyTexts(p.Within, tidySequence)
		p.When = strings.TrimSpace(p.When)
		p.Captures = tidyTexts(p.Captures, strings.TrimSpace)
		p.Allow = tidyTexts(p.Allow, strings.TrimSpace)
		p.GroupBy = tidyTexts(p.GroupBy, strings.TrimSpace)
		if p.Sample == 1 {
			p.Sample = 0
		}
	}
	for i := range s.Weave {
		s.Weave[i].Classes = tidyTexts(s.Weave[i].Classes, tidyClass)
	}
}

// tidyTexts changes a copy: the list may be another set's, too.
func tidyTexts(texts []string, tidy func(string) string) []string {
	var tidied []string
	for _, text := range texts {
		tidied = append(tidied, tidy(text))
	}
	return tidied
}

func tidyPattern(text string) string {
	if p, err := pattern.Parse(text); err == nil {
		return p.String()
	}
	return text
}

func tidyClass(text string) string {
	if p, err := pattern.ParseClass(text); err == nil {
		return p.String()
	}
	return text
}

func tidySequence(text string) string {
	if s, err := sequence.Parse(text); err == nil {
		return s.String()
	}
	return text
}
