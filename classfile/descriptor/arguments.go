package descriptor

// EachArgument calls f with the descriptor of each argument of a method. It
// allocates nothing for a well-formed descriptor.
func EachArgument(desc []byte, f func(field []byte)) error {
	if _, _, ok := ArgSlots(desc); !ok {
		return &SyntaxError{Kind: "method descriptor", Input: string(desc), Detail: "malformed"}
	}
	for at := 1; desc[at] != ')'; {
		next := skipField(desc, at)
		f(desc[at:next])
		at = next
	}
	return nil
}
