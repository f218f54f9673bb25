package session

import "github.com/sonde-jvm/sonde/internal/wire/arena"

// SetRings says how much a thread's ring of traced calls holds, in bytes, and how far
// below their root calls are traced; 0 is as far as they go. Rings that are there keep
// their size.
func (s *Session) SetRings(bytes, levels uint32) error { return s.arena.SetRings(bytes, levels) }

// Rings are where threads write the calls that are traced. Who reads them makes room:
// there must be one reader.
func (s *Session) Rings() ([]*arena.Ring, error) { return s.arena.Rings() }

// Ringless is how many calls were only counted, as there was no room for a ring.
func (s *Session) Ringless() (uint64, error) { return s.arena.Ringless() }
