package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// alternate starts the application in each of the ways, round after round. Each round begins
// with another one, so that none always follows the same. The first round only warms the
// machine's caches, and is not kept.
func alternate(ctx context.Context, a application, ways []*way, folder string, o options) error {
	for round := range o.rounds + 1 {
		order := slices.Concat(ways[round%len(ways):], ways[:round%len(ways)])
		if err := startAll(ctx, a, order, folder, round, o.together); err != nil {
			return err
		}
	}
	return nil
}

// startAll starts the application once in each way: one after the other, or all at once.
func startAll(ctx context.Context, a application, ways []*way, folder string, round int, together bool) error {
	failures := make([]error, len(ways))
	var under sync.WaitGroup
	for i, w := range ways {
		under.Go(func() { failures[i] = w.startIn(ctx, a, folder, round) })
		if together {
			continue
		}
		if under.Wait(); failures[i] != nil {
			break
		}
	}
	under.Wait()
	return errors.Join(failures...)
}

// startIn starts the application once, in a folder below one.
func (w *way) startIn(ctx context.Context, a application, folder string, round int) error {
	err := inFolder(folder, fmt.Sprintf("%d-%s", round, w.key), func(folder string) error {
		s, err := a.start(ctx, folder, w.options(folder)...)
		if err != nil {
			return err
		}
		return w.keep(folder, s, round > 0)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", w.name, err)
	}
	return nil
}

// keep takes note of a start, where it counts.
func (w *way) keep(folder string, s start, counts bool) error {
	if w.account != nil {
		told, err := w.account(folder, s)
		if err != nil {
			return err
		}
		if counts {
			w.accounts = append(w.accounts, told)
		}
	}
	if counts {
		w.starts = append(w.starts, s)
	}
	return nil
}
