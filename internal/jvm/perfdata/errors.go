package perfdata

import "fmt"

// A FormatError tells where a file stops being readable. What was read before
// that place is returned with it: a JVM that is starting publishes counters
// while it still allocates others.
type FormatError struct {
	Structure string // "header" or "entry 12"
	Offset    int    // in the file
	Detail    string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("hsperfdata: %s at offset %d: %s", e.Structure, e.Offset, e.Detail)
}
