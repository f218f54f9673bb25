package trace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Resolve names what has numbers only. It may be called again, when more is known, and
// tells whether all is.
func (t *Transaction) Resolve(names Names, redact *Redactor) bool {
	known := t.Root.resolve(names, redact, nil)
	for _, part := range t.Parts {
		known = part.resolve(names, redact, nil) && known
	}
	t.gatherTags()
	return known
}

// resolve names a call and those below it; around are the tags of the call around it.
func (c *Call) resolve(names Names, redact *Redactor, around map[string]string) bool {
	whole := c.known
	if !c.known {
		whole = c.resolveSpot(names, redact)
	}
	tags, has := map[string]string(nil), c.label == 0
	if c.label != 0 && names != nil {
		tags, has = names.Tags(c.label)
	}
	if tags = redact.tags(tags); has && !maps.Equal(tags, around) {
		c.Tags = tags
	}
	whole = whole && has
	for _, child := range c.Children {
		whole = child.resolve(names, redact, tags) && whole
	}
	return whole
}

func (c *Call) resolveSpot(names Names, redact *Redactor) bool {
	c.Method = fmt.Sprintf("#%d", c.Spot)
	if names == nil {
		return false
	}
	spot, found := names.Spot(c.Spot)
	if !found {
		return false
	}
	c.Class, c.Method, c.Descriptor = strings.ReplaceAll(spot.Class, "/", "."), spot.Method, spot.Descriptor
	c.Probe, c.Conditional, c.known = spot.Probe, spot.Conditional, true
	// Templates write all that they have room for, whether somebody asked for it or not.
	c.Values = slices.DeleteFunc(c.Values, func(v Value) bool {
		return !slices.ContainsFunc(spot.Captures, func(capture Capture) bool { return capture.is(v) })
	})
	for i := range c.Values {
		c.Values[i].name(spot.Captures, redact)
	}
	for _, capture := range spot.Captures {
		if capture.Redacted && !slices.ContainsFunc(c.Values, capture.is) {
			c.Values = append(c.Values, Value{Index: capture.Index, AtExit: capture.AtExit, Expression: capture.Expression, Redacted: true})
		}
	}
	slices.SortStableFunc(c.Values, func(a, b Value) int {
		return cmp.Or(compareBools(a.AtExit, b.AtExit), cmp.Compare(a.Index, b.Index))
	})
	return true
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// name says what a value is of.
func (v *Value) name(captures []Capture, redact *Redactor) {
	at := slices.IndexFunc(captures, func(c Capture) bool { return c.is(*v) })
	v.Expression, v.Redacted = captures[at].Expression, captures[at].Redacted
	if v.Redacted {
		v.Null, v.Failed, v.Cut = false, false, false // it was not read
		return
	}
	v.Text, v.Redacted = redact.Text(v.raw)
}

// is tells whether a value is of this expression.
func (c Capture) is(v Value) bool { return c.Index == v.Index && c.AtExit == v.AtExit }
