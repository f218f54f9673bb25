package trace

// A Spot is what is known of a hook by its number.
type Spot struct {
	Class, Method, Descriptor string
	Probe                     string
	// Conditional is set where the hook acts only in a context or under a condition.
	Conditional bool
	Captures    []Capture
}

// A Capture is an expression whose value hooks write.
type Capture struct {
	Index      int
	AtExit     bool
	Expression string
	Redacted   bool // it is named for a secret, and never read
}

// Names say what numbers mean. Answers may come later than the records do.
type Names interface {
	Spot(id uint32) (Spot, bool)
	Tags(label uint32) (map[string]string, bool)
}
