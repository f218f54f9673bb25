package liveprobes

import (
	"errors"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
)

var errAmbiguous = errors.New("there are several classes of this name, and what it reads is not the same in them")

func dotted(class string) string { return strings.ReplaceAll(class, "/", ".") }

// scope is what is known at a method.
func (c *compiler) scope(m method, at condition.Moment) condition.Scope {
	subtypes := c.world.subtypes
	if c.world.unbounded {
		subtypes = nil
	}
	return condition.Scope{
		Class: c.world.open(m.class), Method: m.member, Moment: at,
		Lookup:   func(name string) *condition.Class { return c.world.lookup(name, m.class) },
		Subtypes: subtypes, OwnOnly: c.world.unbounded,
		Exported: func(other *condition.Class) bool { return c.world.library.exported(other.Name(), m.class.name) },
		Probed: func(class, name, descriptor string) bool {
			return c.hooked[condition.Method{Class: class, Name: name, Descriptor: descriptor}]
		},
		Tags: c.numbers, TagCall: c.tagCall,
	}
}

// equip gives a spot its conditions and values, checked in its method. Where several
// loaders have a class of the name, they must fit each.
func (c *compiler) equip(s *planned) error {
	s.Code, s.depends, s.captures = nil, nil, nil
	if err := c.equipIn(s, s.method); err != nil {
		return err
	}
	for _, other := range c.world.classes[s.Class] {
		if other == s.method.class {
			continue
		}
		for _, m := range c.world.methods(other) {
			if m.name == s.Name && m.descriptor == s.Descriptor {
				again := *s
				if err := c.equipIn(&again, m); err != nil {
					return err
				}
				if !s.HasSameCode(&again.Spot) {
					return errAmbiguous
				}
				s.depends = append(s.depends, again.depends...)
			}
		}
	}
	return nil
}

func (c *compiler) equipIn(s *planned, m method) error {
	switch {
	case s.tag != nil:
		if name := c.secretIn(m, s.tag.Value, c.allowed()); name != "" {
			return &secretTagError{name}
		}
		checked, err := condition.CheckValue(s.tag.expr, c.scope(m, condition.Entry))
		if err != nil {
			return err
		}
		s.Code = []weave.Lowered{checked}
		s.depends = []condition.Depends{checked.Depends()}
		return nil
	case s.probe == nil:
		return nil
	}
	p := s.probe
	code := make([]weave.Lowered, allCode)
	var depends []condition.Depends
	for _, part := range []struct {
		clause *clause
		moment condition.Moment
		number int
	}{{p.entry, condition.Entry, entryCondition}, {p.exit, condition.Exit, exitCondition}} {
		if part.clause == nil {
			continue
		}
		checked, err := part.clause.check(c.scope(m, part.moment))
		if err != nil {
			return err
		}
		code[part.number] = checked
		depends = append(depends, checked.Depends())
	}
	values, err := c.capture(s, m, code)
	if err != nil {
		return err
	}
	s.Code, s.depends = trimmed(code), append(depends, values...)
	return nil
}

// trimmed is code without what is nil at its end.
func trimmed(code []weave.Lowered) []weave.Lowered {
	for len(code) > 0 && code[len(code)-1] == nil {
		code = code[:len(code)-1]
	}
	return code
}

// capture adds the values that are captured. One that must not be shown is not read.
func (c *compiler) capture(s *planned, m method, code []weave.Lowered) (depends []condition.Depends, err error) {
	s.captures = nil
	for _, value := range s.probe.captures {
		named := CaptureName{Index: value.index, Text: value.text}
		if c.secretIn(m, value.text, s.probe.Allow) != "" {
			named.Redacted = true
			code[value.code] = withheld{}
			s.captures = append(s.captures, named)
			told := c.probeSums[s.probe.Name]
			if !slices.Contains(told.Redacted, value.text) {
				told.Redacted = append(told.Redacted, value.text)
			}
			continue
		}
		moment := condition.Entry
		if value.index&ExitCapture != 0 {
			moment = condition.Exit
		}
		checked, err := condition.CheckValue(value.expr, c.scope(m, moment))
		if err != nil {
			var bad *condition.Error
			if errors.As(err, &bad) {
				return nil, &captureError{value.text, err}
			}
			return nil, err
		}
		code[value.code] = checked
		depends = append(depends, checked.Depends())
		s.captures = append(s.captures, named)
	}
	return depends, nil
}

// withheld is the code of a value that is not read: that there would be one is told.
type withheld struct{}

// Lower gives null.
func (withheld) Lower(weave.Moment) (*weave.Fragment, error) {
	return &weave.Fragment{Steps: []weave.Step{{Do: weave.DoOp, Op: opcode.AconstNull}}, MaxStack: 1, Text: true}, nil
}

// A captureError says which capture is wrong.
type captureError struct {
	text  string
	cause error
}

func (e *captureError) Error() string { return "capture " + e.text + ": " + e.cause.Error() }
func (e *captureError) Unwrap() error { return e.cause }

// secretIn is the name for which what an expression reads must not be shown, among those
// in it and those of the parameters it names by number; "" where it may.
func (c *compiler) secretIn(m method, text string, allowed []string) string {
	names := namesIn(text)
	for _, number := range numbersIn(text) {
		names = append(names, m.parameterNames(number)...)
	}
	return secretIn(names, allowed)
}

// allowed are the names that probes allow: tags are of all of them.
func (c *compiler) allowed() (names []string) {
	for _, p := range c.probes {
		names = append(names, p.Allow...)
	}
	return names
}

// A secretTagError says that a tag would show what is not to be shown.
type secretTagError struct{ name string }

func (e *secretTagError) Error() string {
	return "its value is not shown, as it is a " + e.name + ": allow that name (sonde trace --allow, or allow: of a probe), or take another value"
}
