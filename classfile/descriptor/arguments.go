package descriptor

// EachArgument calls f with the descriptor of each argument of a method. It
// allocates nothing for a well-formed descriptor.
func EachArgument(desc []byte, f func(field []byte)) error {
	at := 1
	for at > 0 && at < len(desc) && desc[at] != ')' {
		next := skipField(desc, at)
		if next > 0 {
			f(desc[at:next])
		}
		at = next
	}
	if at < 0 || at >= len(desc) || desc[0] != '(' {
		return &SyntaxError{Kind: "method descriptor", Input: string(desc), Detail: "malformed"}
	}
	return nil
}
