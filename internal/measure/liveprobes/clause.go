package liveprobes

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/weave/condition"
)

// A clause is what of a condition is asked at one moment. It knows where its parts stand
// in the whole, so that errors point there.
type clause struct {
	expr  *condition.Expr
	whole string
	parts []part
}

// A part begins at an offset of the clause and stands at one of the whole.
type part struct{ at, in, length int }

// atExit are what only the exit knows.
var atExit = []string{"$return", "$exception", "$elapsed"}

// readsExit reports whether an expression asks for what only the exit knows.
func readsExit(text string) bool {
	found := false
	outside(text, func(i int) bool {
		for _, name := range atExit {
			if strings.HasPrefix(text[i:], name) {
				found = true
			}
		}
		return !found
	})
	return found
}

// outside visits the offsets of a text that are not inside a constant text, until told
// to stop.
func outside(text string, visit func(i int) bool) {
	quoted := byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted != 0 && c == '\\':
			i++
		case quoted != 0:
			if c == quoted {
				quoted = 0
			}
		case c == '"' || c == '\'':
			quoted = c
		default:
			if !visit(i) {
				return
			}
		}
	}
}

// conjuncts are where the parts of a condition lie that && joins; it is one where ||
// does.
func conjuncts(text string) (parts []part) {
	depth, begin, hasOr := 0, 0, false
	outside(text, func(i int) bool {
		switch c := text[i]; {
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case depth > 0:
		case strings.HasPrefix(text[i:], "||"):
			hasOr = true
		case strings.HasPrefix(text[i:], "&&"):
			parts = append(parts, part{in: begin, length: i - begin})
			begin = i + len("&&")
		}
		return true
	})
	if hasOr {
		return []part{{length: len(text)}}
	}
	return append(parts, part{in: begin, length: len(text) - begin})
}

// split makes of a condition what is asked at the entry and what at the exit; nil where
// nothing is. What only the entry need know is asked there, so that other calls cost no
// more than that.
func split(text string, slowerThan time.Duration) (entry, exit *clause, err error) {
	if text != "" {
		if _, err := condition.Parse(text); err != nil {
			return nil, nil, err
		}
		var early, late []part
		for _, p := range conjuncts(text) {
			if readsExit(text[p.in : p.in+p.length]) {
				late = append(late, p)
			} else {
				early = append(early, p)
			}
		}
		if entry, err = joined(text, early, ""); err != nil {
			return nil, nil, err
		}
		if exit, err = joined(text, late, ""); err != nil {
			return nil, nil, err
		}
	}
	if slowerThan <= 0 {
		return entry, exit, nil
	}
	// It is asked first: it costs least.
	bound := "$elapsed >= " + nanosecondsOf(slowerThan)
	if exit == nil {
		exit, err = joined("", nil, bound)
	} else {
		var late []part
		for _, p := range exit.parts {
			late = append(late, part{in: p.in, length: p.length})
		}
		exit, err = joined(text, late, bound)
	}
	return entry, exit, err
}

func nanosecondsOf(d time.Duration) string { return strconv.FormatInt(d.Nanoseconds(), 10) + "ns" }

// joined is a clause of parts of a condition, behind a further one.
func joined(whole string, parts []part, further string) (*clause, error) {
	if len(parts) == 0 && further == "" {
		return nil, nil
	}
	c := &clause{whole: whole}
	var text strings.Builder
	text.WriteString(further)
	for _, p := range parts {
		if text.Len() > 0 {
			text.WriteString(" && ")
		}
		// One with || in it is bracketed, unless it is alone.
		isBracketed := further != "" && len(parts) == 1
		if isBracketed {
			text.WriteByte('(')
		}
		p.at = text.Len()
		c.parts = append(c.parts, p)
		text.WriteString(whole[p.in : p.in+p.length])
		if isBracketed {
			text.WriteByte(')')
		}
	}
	var err error
	if c.expr, err = condition.Parse(text.String()); err != nil {
		return nil, c.locate(err)
	}
	return c, nil
}

// locate has an error point into the whole condition.
func (c *clause) locate(err error) error {
	var bad *condition.Error
	if !errors.As(err, &bad) {
		return err
	}
	for _, p := range c.parts {
		if bad.Offset >= p.at && bad.Offset <= p.at+p.length {
			moved := *bad
			moved.Text, moved.Offset = c.whole, bad.Offset-p.at+p.in
			return &moved
		}
	}
	return err
}

// check finds out what the clause means in a method; a nil one always holds.
func (c *clause) check(scope condition.Scope) (*condition.Checked, error) {
	checked, err := condition.Check(c.expr, scope)
	if err != nil {
		return nil, c.locate(err)
	}
	return checked, nil
}
