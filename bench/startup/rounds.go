package main

import (
	"context"
	"fmt"
)

// alternate starts the application in each of the ways, round after round. Each round begins
// with another one, so that none always follows the same. The first round only warms the
// machine's caches, and is not kept.
func alternate(ctx context.Context, a application, ways []*way, folder string, rounds int) error {
	for round := range rounds + 1 {
		for i := range ways {
			w := ways[(i+round)%len(ways)]
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
		}
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
