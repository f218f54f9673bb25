package process

import "strings"

// splitOptions splits the value of JAVA_TOOL_OPTIONS and its like: words
// between white space, in which either quote groups and nothing escapes.
func splitOptions(text string) []string {
	return split(text, false)
}

// splitArguments splits the content of an @argument file: as splitOptions, and
// a backslash in quotes escapes, # starts a comment.
func splitArguments(text string) []string {
	return split(text, true)
}

func split(text string, argumentFile bool) []string {
	var words []string
	var word strings.Builder
	begun, quote := false, byte(0)
	end := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	for i := 0; i < len(text); i++ {
		b := text[i]
		switch {
		case quote != 0 && b == quote:
			quote = 0
		case quote != 0 && argumentFile && b == '\\' && i+1 < len(text):
			i++
			i += unescape(&word, text[i:])
		case quote != 0:
			word.WriteByte(b)
		case b == '"' || b == '\'':
			quote, begun = b, true
		case strings.IndexByte(" \t\n\r\f\v", b) >= 0:
			end()
		case argumentFile && b == '#' && !begun:
			for i+1 < len(text) && text[i+1] != '\n' && text[i+1] != '\r' {
				i++
			}
		default:
			word.WriteByte(b)
			begun = true
		}
	}
	end()
	return words
}

// unescape adds what the text after a backslash stands for, and returns how
// many bytes beyond the first it took.
func unescape(word *strings.Builder, rest string) int {
	switch rest[0] {
	case 'n':
		word.WriteByte('\n')
	case 'r':
		word.WriteByte('\r')
	case 't':
		word.WriteByte('\t')
	case 'f':
		word.WriteByte('\f')
	case '\n', '\r':
		// The line goes on after the white space that begins the next one.
		return len(rest) - len(strings.TrimLeft(rest, " \t\n\r\f")) - 1
	default:
		word.WriteByte(rest[0])
	}
	return 0
}
