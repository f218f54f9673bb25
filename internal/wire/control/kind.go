package control

import "strconv"

// A Kind says what is in a frame.
type Kind uint8

// A side is who may send a kind of frame.
type side uint8

const (
	fromNobody side = iota
	fromAgent
	fromSonde
	fromEither
)

type kindInfo struct {
	name string
	from side
}

// String is the kind's name in capitals, or its number where it has none.
func (k Kind) String() string {
	if name := kinds[k].name; name != "" {
		return name
	}
	return "kind " + strconv.Itoa(int(k))
}

func (k Kind) sentByAgent() bool {
	return kinds[k].from == fromAgent || kinds[k].from == fromEither
}
