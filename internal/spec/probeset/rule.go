package probeset

import (
	"fmt"

	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// When is when the classes of a rule may get hooks.
type When uint8

// The answers. A class that no rule names is woven whenever it can be.
const (
	Unstated When = iota
	Static        // beforehand, into a pack; where there is none, as if nothing were stated
	Load          // as it loads, while a Sonde is there
	Dynamic       // on demand, when it is loaded
	Never
)

var whenNames = [...]string{"unstated", "static", "load", "dynamic", "never"}

func (w When) String() string {
	if int(w) < len(whenNames) {
		return whenNames[w]
	}
	return fmt.Sprintf("When(%d)", uint8(w))
}

// MarshalText is the name, for JSON.
func (w When) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// ParseWhen reads a name that a rule may state.
func ParseWhen(name string) (When, bool) {
	for w, known := range whenNames {
		if When(w) != Unstated && name == known {
			return When(w), true
		}
	}
	return Unstated, false
}

// Rule says when classes may get hooks.
type Rule struct {
	Classes []string // patterns, as package probe reads those of classes
	When    When
}

// Rules answer for classes. They are made once of a set that was checked, where many
// classes are asked about.
type Rules struct{ patterns []rulePattern }

type rulePattern struct {
	*pattern.ClassPattern
	when When
}

// Rules are those of the set, in their order. What is no pattern names no class.
func (s *Set) Rules() *Rules {
	rules := &Rules{}
	for _, r := range s.Weave {
		for _, text := range r.Classes {
			if p, err := pattern.ParseClass(text); err == nil {
				rules.patterns = append(rules.patterns, rulePattern{p, r.When})
			}
		}
	}
	return rules
}

// When says when a class, given by its internal name, may get hooks: the first rule
// counts that names it. The text is that rule as messages have it, such as "rule
// com.acme.gen.** says never"; empty where none names the class.
func (r *Rules) When(class string) (when When, rule string) {
	for i := range r.patterns {
		if p := &r.patterns[i]; p.Match(class) {
			return p.when, fmt.Sprintf("rule %s says %v", p, p.when)
		}
	}
	return Unstated, ""
}

// When is [Rules.When] for a single class.
func (s *Set) When(class string) (when When, rule string) { return s.Rules().When(class) }
