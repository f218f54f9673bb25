package pattern

import "errors"

// ErrNothingIncluded says that a set has only exclusions, or no pattern.
var ErrNothingIncluded = errors.New("no pattern says what to match: give at least one without a leading !; ** matches every method")

// Set is several patterns seen as one: a method is in it when at least one
// pattern matches and no exclusion does, whatever their order.
type Set struct {
	include, exclude []*Pattern
}

// ParseSet reads the patterns of a set.
func ParseSet(texts ...string) (*Set, error) {
	patterns := make([]*Pattern, len(texts))
	for i, text := range texts {
		var err error
		if patterns[i], err = Parse(text); err != nil {
			return nil, err
		}
	}
	return NewSet(patterns...)
}

// NewSet joins patterns. It fails with [ErrNothingIncluded] where they could
// never match.
func NewSet(patterns ...*Pattern) (*Set, error) {
	s := &Set{}
	for _, p := range patterns {
		if p.exclude {
			s.exclude = append(s.exclude, p)
		} else {
			s.include = append(s.include, p)
		}
	}
	if len(s.include) == 0 {
		return nil, ErrNothingIncluded
	}
	return s, nil
}

// Includes are the patterns without the exclusions.
func (s *Set) Includes() []*Pattern { return s.include }

// MatchClass reports whether the set can hold a method of the class. It is the
// cheap question to ask before a class is read.
func (s *Set) MatchClass(internalName string) bool {
	for _, p := range s.exclude {
		if p.anyMethod() && p.MatchClass(internalName) {
			return false
		}
	}
	for _, p := range s.include {
		if p.MatchClass(internalName) {
			return true
		}
	}
	return false
}

// Match reports whether the set holds a method.
func (s *Set) Match(internalName, name, desc string) bool {
	return matchesOne(s.include, internalName, name, desc) && !matchesOne(s.exclude, internalName, name, desc)
}

func matchesOne(patterns []*Pattern, internalName, name, desc string) bool {
	for _, p := range patterns {
		if p.Match(internalName, name, desc) {
			return true
		}
	}
	return false
}
