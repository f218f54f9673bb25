package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// cachePruneJSON is what `sonde cache prune --json` writes.
type cachePruneJSON struct {
	Dir     string `json:"dir"`
	Entries int    `json:"entriesRemoved"`
	Bytes   int64  `json:"bytesRemoved"`
	Left    int64  `json:"bytesLeft"`
}

func newCachePrune(s streams, place *cachePlace) *cobra.Command {
	var to string
	var asJSON bool
	command := &cobra.Command{
		Use:   "prune",
		Short: "Remove what was not used for longest",
		Long:  cachePruneLong,
		Example: `  sonde cache prune --to 64M
  sonde cache prune --to 0`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			size := int64(cache.DefaultBound)
			if to != "" {
				var err error
				if size, err = parseSize(to); err != nil {
					return usage("--to %w", err)
				}
			}
			return cachePrune(cmd.Context(), s, place, size, asJSON)
		},
	}
	command.Flags().StringVar(&to, "to", "", "the `SIZE` to keep, such as 64M")
	command.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	return command
}

func cachePrune(ctx context.Context, s streams, place *cachePlace, to int64, asJSON bool) error {
	var report cachePruneJSON
	d, err := place.open()
	if err == nil {
		defer func() { _ = d.Close() }() // nothing is left to be written
		gone, pruneErr := d.Prune(ctx, to)
		report, err = cachePruneJSON{d.Dir(), gone.Entries, gone.Bytes, gone.Left}, pruneErr
	}
	switch {
	case errors.Is(err, cache.ErrBusy):
		return fmt.Errorf("%w, and make room: try again", err)
	case err != nil && !errors.Is(err, errNothingCached):
		return err
	case asJSON:
		return writeJSON(s.out, report)
	}
	_, err = fmt.Fprintf(s.out, "removed %s, %s; %s left\n", count(report.Entries, "entry", "entries"), diskText(report.Bytes), diskText(report.Left))
	return err
}
