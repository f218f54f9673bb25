package process

import (
	"fmt"
	"strings"
)

// An Obstacle is an error in one line: which process, what is in the way, what
// to do. It answers to its kind, and to what failed.
type Obstacle struct {
	PID    int
	Kind   error
	Detail string // and remedy
	Cause  error  // nil where nothing deeper failed
}

func (o *Obstacle) Error() string {
	text := fmt.Sprintf("process %d: %v", o.PID, o.Kind)
	if o.Detail != "" {
		text += ": " + o.Detail
	}
	if o.Cause != nil {
		text += " (" + o.Cause.Error() + ")"
	}
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// Unwrap gives what is in the way and what failed.
func (o *Obstacle) Unwrap() []error {
	if o.Cause == nil {
		return []error{o.Kind}
	}
	return []error{o.Kind, o.Cause}
}
