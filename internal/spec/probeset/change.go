package probeset

import (
	"fmt"
	"slices"
)

// Action is what has to be done to get from one set to another.
type Action uint8

// The actions.
const (
	Add Action = iota
	Alter
	Remove
)

var actionNames = [...]string{"add", "alter", "remove"}

// Sign is how a change is shown: + ~ -.
func (a Action) Sign() string { return [...]string{"+", "~", "-"}[min(a, Remove)] }

func (a Action) String() string { return actionNames[min(a, Remove)] }

// MarshalText is the name, for JSON.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads a name.
func (a *Action) UnmarshalText(text []byte) error {
	i := slices.Index(actionNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("%q is no action: it is one of %v", text, actionNames)
	}
	*a = Action(i)
	return nil
}

// Kind is what a change is about.
type Kind uint8

// The kinds.
const (
	OfProbe Kind = iota
	OfTag
	OfSet  // the set as a whole
	OfRule // when classes get hooks; its name is its classes
)

var kindNames = [...]string{"probe", "tag", "set", "rule"}

func (k Kind) String() string { return kindNames[min(k, OfRule)] }

// MarshalText is the name, for JSON.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a name.
func (k *Kind) UnmarshalText(text []byte) error {
	i := slices.Index(kindNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("%q is no kind: it is one of %v", text, kindNames)
	}
	*k = Kind(i)
	return nil
}

// Change is one difference between two sets.
type Change struct {
	Action Action  `json:"action"`
	Kind   Kind    `json:"kind"`
	Name   string  `json:"name,omitempty"` // of the probe or tag, classes of the rule; empty for the set
	Fields []Field `json:"fields"`         // what differs: of what is added or removed, all it states
}

// Field is a value that differs, as the file writes it; empty where it has none.
type Field struct {
	Name string `json:"name"`
	Have string `json:"have,omitempty"`
	Want string `json:"want,omitempty"`
}
