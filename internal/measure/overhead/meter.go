package overhead

import (
	"context"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

const (
	// meterEvery keeps the cost of measuring far below a hundredth of a processor.
	meterEvery = 10 * time.Second
	meterLimit = 5 * time.Second
)

// A Meter measures repeatedly what a hook costs in a JVM: clocks drift, and at first the
// JVM has not compiled the hooked methods. If it cannot be measured, the cost stays
// unknown.
type Meter struct {
	session *session.Look
	flags   arena.Flags
	period  uint32

	turn sync.Mutex // held during a measurement
	lock sync.Mutex
	last *session.HookCost
	at   time.Time
}

// NewMeter returns a meter for hooks with these flags and this sampling period.
func NewMeter(s *session.Look, flags arena.Flags, period uint32) *Meter {
	return &Meter{session: s, flags: flags, period: period}
}

// Cost returns the last measurement, or nil if there is none. A nil Meter has none.
func (m *Meter) Cost() *session.HookCost {
	if m == nil {
		return nil
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.last
}

// Measure measures now, or after a measurement that is running.
func (m *Meter) Measure(ctx context.Context) {
	m.turn.Lock()
	defer m.turn.Unlock()
	ctx, cancel := context.WithTimeout(ctx, meterLimit)
	defer cancel()
	if cost, err := m.session.HookCost(ctx, m.flags, m.period); err == nil {
		m.lock.Lock()
		defer m.lock.Unlock()
		m.last, m.at = &cost, time.Now()
		m.session.SetHookCost(cost.Median)
	}
}

// Refresh starts a measurement in the background if the last one is old, or was made
// before a moment.
func (m *Meter) Refresh(ctx context.Context, after time.Time) {
	m.lock.Lock()
	due := m.at.Before(after) || time.Since(m.at) > meterEvery
	m.lock.Unlock()
	if due && m.turn.TryLock() {
		m.turn.Unlock()
		go m.Measure(ctx)
	}
}
