package trace

import (
	"errors"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A Reader reads the rings of a JVM's threads into an assembler.
type Reader struct {
	*Assembler
	Damaged uint64 // how often a ring held no valid record
	Rings   Rings  // as of the last Count

	session *session.Look
}

// Rings holds the counters of all rings together.
type Rings = session.RingCounters

// NewReader returns a reader of the rings of a session. allow are names whose values are shown although they are those
// of secrets; settle is how long a transaction waits for calls of other threads.
func NewReader(s *session.Look, live *liveprobes.Probes, allow []string, settle time.Duration) *Reader {
	clock := Clock{Wall: time.Now(), Nanos: uint64(s.Now())}
	return &Reader{session: s, Assembler: NewAssembler(Options{Names: live.Names, Redact: NewRedactor(allow), Clock: clock, Settle: settle, Since: clock.Nanos})}
}

// Read reads all records that were written since the last call, and reports whether
// there were any.
func (r *Reader) Read() (bool, error) {
	rings, err := r.session.Rings()
	if err != nil {
		return false, err
	}
	any := false
	for _, ring := range rings {
		err := ring.Read(func(record arena.Record) {
			any = true
			r.Add(ring.Ref(), record)
		})
		if errors.Is(err, arena.ErrOverrun) { // the other rings can still be read
			r.Damaged++
			continue
		}
		if err != nil {
			return any, err
		}
	}
	return any, nil
}

// TakeNow delivers the transactions that are complete.
func (r *Reader) TakeNow() []*Transaction { return r.Take(uint64(r.session.Now())) }

// Finish reads the last records, and delivers all transactions whose root has ended.
func (r *Reader) Finish() ([]*Transaction, error) {
	_, err := r.Read()
	_ = r.Count() // otherwise the counters are those of the last reading
	return r.Flush(), err
}

// Count reads the counters of the rings.
func (r *Reader) Count() (err error) {
	r.Rings, err = r.session.RingCounters()
	return err
}
