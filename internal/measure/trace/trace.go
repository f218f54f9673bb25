package trace

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"time"
)

// A Trace is what a run found, and how.
type Trace struct {
	Target  Target
	Command string   // who asked
	Methods []string // patterns of the roots
	// Conditions say in words which transactions were chosen.
	Conditions []string
	Levels     int // how far below a root calls are traced
	Began      time.Time
	Took       time.Duration
	// Transactions are those kept, by their beginnings.
	Transactions []*Transaction
	Cost         Cost
	Woven        int // how often a class was woven
	Cached       int // how often it had been before, and was in the cache
	Losses       Losses
	Notes        []string
}

// A Target is the JVM that was traced.
type Target struct {
	PID     int
	Command string
	JDK     string
}

// Losses are what a trace does not show.
type Losses struct {
	Counts
	// NotChosen are transactions whose verdict at the end was no.
	NotChosen uint64
	// Dropped are calls that found no room in a ring and were only counted.
	Dropped uint64
	// Undecided are calls whose condition met an exception.
	Undecided uint64
	// Ambiguous are tasks handed over so that whose they are is not known.
	Ambiguous uint64
	// ContextsLost are calls of anchors and tag points that found no room.
	ContextsLost uint64
	// Beyond are transactions that ended when as many as wanted were there.
	Beyond uint64
	// Early are transactions that were not kept because they began before the JVM had
	// compiled again what has hooks.
	Early uint64
}

// Slowest is the transaction that took longest, nil where there is none.
func (t *Trace) Slowest() (slowest *Transaction) {
	for _, one := range t.Transactions {
		if slowest == nil || one.Duration > slowest.Duration {
			slowest = one
		}
	}
	return slowest
}

// TraceID names a transaction among all that were ever traced. It is the same
// whenever and however the transaction is written.
func (t *Target) TraceID(tx *Transaction) (id [16]byte) {
	text := []byte("sonde\x00" + t.Command + "\x00" + strconv.Itoa(t.PID))
	text = binary.BigEndian.AppendUint64(text, uint64(tx.Begin.UnixNano()))
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(text, tx.ID))
	copy(id[:], sum[:])
	return id
}

// SpanID names a call of a transaction, by its place in Transaction.All.
func SpanID(trace [16]byte, place int) (id [8]byte) {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(trace[:], uint64(place)))
	copy(id[:], sum[:])
	return id
}
