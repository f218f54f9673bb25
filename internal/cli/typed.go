package cli

import (
	"strings"
	"unicode"
)

// typed is a filter that keys change.
type typed struct {
	filter string
	typing bool // keys go to the filter
}

// Keys that are no letters.
const (
	keyEscape    = '\x1b'
	keyBackspace = '\x7f'
	keyErase     = '\b'
)

// edit changes the filter by a key.
func (t *typed) edit(key rune) {
	switch {
	case key == '\r' || key == '\n':
		t.typing = false
	case key == keyEscape:
		t.typing, t.filter = false, ""
	case key == keyBackspace || key == keyErase:
		if runes := []rune(t.filter); len(runes) > 0 {
			t.filter = string(runes[:len(runes)-1])
		}
	case unicode.IsPrint(key):
		t.filter += string(key)
	}
}

func (t *typed) passes(name string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(t.filter))
}
