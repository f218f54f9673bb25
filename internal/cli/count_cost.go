package cli

import (
	"context"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A costMeter measures what hooks cost, again and again: clocks drift, and a JVM
// first compiles what the hooks made new. Where it cannot be measured the rest
// goes on without.
type costMeter struct {
	session *session.Session
	flags   arena.Flags
	period  uint32

	turn sync.Mutex // held while it is measured
	lock sync.Mutex
	last *session.HookCost
	at   time.Time
}

const (
	// measureEvery keeps what measuring costs far below a hundredth of a
	// processor.
	measureEvery = 10 * time.Second
	measureLimit = 5 * time.Second
)

func (m *costMeter) begin(s *session.Session, flags arena.Flags, period uint32) {
	m.session, m.flags, m.period = s, flags, period
}

// get is what hooks cost, as far as it is known: nil where it is not.
func (m *costMeter) get() *session.HookCost {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.last
}

// measure measures now, after a measurement that is under way.
func (m *costMeter) measure(ctx context.Context) {
	m.turn.Lock()
	defer m.turn.Unlock()
	ctx, cancel := context.WithTimeout(ctx, measureLimit)
	defer cancel()
	if cost, err := m.session.HookCost(ctx, m.flags, m.period); err == nil {
		m.lock.Lock()
		defer m.lock.Unlock()
		m.last, m.at = &cost, time.Now()
	}
}

// refresh has it measured, while others go on, if the last time was long ago or
// before a moment.
func (m *costMeter) refresh(ctx context.Context, after time.Time) {
	m.lock.Lock()
	due := m.at.Before(after) || time.Since(m.at) > measureEvery
	m.lock.Unlock()
	if due && m.turn.TryLock() {
		m.turn.Unlock()
		go m.measure(ctx)
	}
}
