package session

import (
	"context"

	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// Unmatched are the patterns of a set that name no class that is loaded now.
func (s *Session) Unmatched(ctx context.Context, set *pattern.Set) ([]Unmatched, error) {
	classes, err := s.peer.List(ctx)
	if err != nil {
		return nil, s.explain(err)
	}
	return unmatched(set, classes), nil
}
