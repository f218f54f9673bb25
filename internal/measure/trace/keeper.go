package trace

import (
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/session"
)

// A Keeper keeps the latest transactions of probes that trace. It is for one goroutine.
type Keeper struct {
	Kept  []*Transaction // in the order they ended
	Older uint64         // transactions that were dropped for later ones
	Sum   Rings          // as of the last Count

	rings   *RingReader
	session *session.Session
	names   *LiveNames
	redact  *Redactor
	most    int
}

// NewKeeper returns a keeper of at most so many transactions. allow are names that are
// shown although they sound like secrets; settle is how long a transaction waits for what
// other threads do for it.
func NewKeeper(s *session.Session, probes *liveprobes.Watch, allow []string, most int, settle time.Duration) *Keeper {
	k := &Keeper{session: s, names: NewLiveNames(probes), redact: NewRedactor(allow), most: most}
	k.rings = NewRingReader(s, NewAssembler(Options{
		Names: k.names, Redact: k.redact, Clock: Clock{Wall: time.Now(), Nanos: uint64(s.Now())}, Settle: settle,
	}))
	return k
}

// Step reads the rings, and keeps transactions that have become whole.
func (k *Keeper) Step() error {
	if _, err := k.rings.Read(); err != nil {
		return err
	}
	k.keep(k.rings.Assembler.Take(uint64(k.session.Now())))
	return nil
}

func (k *Keeper) keep(taken []*Transaction) {
	if len(taken) == 0 {
		return
	}
	k.names.Refresh()
	for _, one := range taken {
		one.Resolve(k.names, k.redact)
	}
	k.Kept = append(k.Kept, taken...)
	if more := len(k.Kept) - k.most; more > 0 {
		k.Older += uint64(more)
		k.Kept = append(k.Kept[:0:0], k.Kept[more:]...)
	}
}

// Count reads the counters of the rings.
func (k *Keeper) Count() {
	if sum, err := k.rings.Sum(); err == nil {
		k.Sum = sum
	}
}

// Finish reads what was written last, and keeps transactions that are not whole as well.
// What cannot be read any more is missing.
func (k *Keeper) Finish() {
	_, _ = k.rings.Read()
	k.Count()
	k.keep(k.rings.Assembler.Flush())
	k.names.Refresh()
	for _, one := range k.Kept {
		one.Resolve(k.names, k.redact)
	}
}

// Losses returns what the transactions kept do not hold.
func (k *Keeper) Losses() Losses {
	return Losses{Counts: k.rings.Assembler.Counts(), NotChosen: k.Sum.Discarded, Dropped: k.Sum.Dropped, Beyond: k.Older}
}
