package targetfs

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
)

// A Session is what an agent is told about the Sonde that calls it.
type Session struct {
	Jar    string // path, as the target sees it, of the jar with the control classes
	Socket string // path of Sonde's Unix socket, or "" for a port
	Port   int    // on the target's loopback
	Token  string // 32 hexadecimal digits, as Proof
	Proof  string
	Holder string // who asks, for a human
}

// encode writes a session as java.util.Properties reads it.
func (s Session) encode() ([]byte, error) {
	switch {
	case (s.Socket == "") == (s.Port == 0):
		return nil, fmt.Errorf("it needs a socket or a port")
	case s.Port < 0 || s.Port > 65535:
		return nil, fmt.Errorf("port %d is none", s.Port)
	case s.Jar == "":
		return nil, fmt.Errorf("it needs a jar")
	case !isSecret(s.Token) || !isSecret(s.Proof):
		return nil, fmt.Errorf("token and proof must be 32 hexadecimal digits")
	}
	var text strings.Builder
	line := func(key, value string) {
		text.WriteString(key + "=")
		escape(&text, value)
		text.WriteByte('\n')
	}
	line("jar", s.Jar)
	if s.Socket != "" {
		line("socket", s.Socket)
	} else {
		line("port", strconv.Itoa(s.Port))
	}
	line("token", s.Token)
	line("proof", s.Proof)
	line("holder", s.Holder)
	return []byte(text.String()), nil
}

// escape writes a value in ASCII. White space at a value's beginning would be
// lost, and a line's end would end it; escaping each is simplest.
func escape(text *strings.Builder, value string) {
	for _, unit := range utf16.Encode([]rune(value)) {
		switch {
		case unit == '\\':
			text.WriteString(`\\`)
		case unit > ' ' && unit < 0x7f:
			text.WriteByte(byte(unit))
		default:
			fmt.Fprintf(text, `\u%04x`, unit)
		}
	}
}
