package descriptor

import "fmt"

// maxLength is the longest text a CONSTANT_Utf8 can hold. Refusing longer
// input bounds the depth of every recursion in this package.
const maxLength = 65535

// SyntaxError says why a text is not the descriptor, name or signature it
// should be.
type SyntaxError struct {
	Kind   string // what was parsed: "method descriptor", "class signature", …
	Input  string
	Offset int // byte of Input at which the defect was seen
	Detail string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s %s: offset %d: %s", e.Kind, shorten(e.Input), e.Offset, e.Detail)
}

// shorten quotes a text for an error message, keeping the message one line of
// reasonable length whatever the input.
func shorten(s string) string {
	const longest = 120
	if len(s) <= longest {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q… (%d bytes)", s[:longest], len(s))
}
