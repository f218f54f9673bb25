package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// cacheVerifyJSON is what `sonde cache verify --json` writes.
type cacheVerifyJSON struct {
	Dir     string            `json:"dir"`
	Entries int               `json:"entries"`
	Bytes   int64             `json:"bytes"`
	Other   int               `json:"ofOtherVersions"`
	Bad     []cacheDamageJSON `json:"damaged"`
}

type cacheDamageJSON struct {
	Key     string `json:"key"`
	Reason  string `json:"reason"`
	Dropped bool   `json:"dropped"`
}

func newCacheVerify(s streams, place *cachePlace) *cobra.Command {
	var drop, asJSON bool
	command := &cobra.Command{
		Use:   "verify",
		Short: "Read all that is kept, and report what is damaged",
		Long:  cacheVerifyLong,
		Example: `  sonde cache verify
  sonde cache verify --drop`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cacheVerify(cmd.Context(), s, place, drop, asJSON)
		},
	}
	command.Flags().BoolVar(&drop, "drop", false, "remove what is damaged")
	command.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	return command
}

func cacheVerify(ctx context.Context, s streams, place *cachePlace, drop, asJSON bool) error {
	report := cacheVerifyJSON{Bad: []cacheDamageJSON{}}
	d, err := place.open()
	if err == nil {
		defer func() { _ = d.Close() }() // nothing is left to be written
		report, err = verifyAll(ctx, d, drop)
	}
	if err != nil && !errors.Is(err, errNothingCached) {
		return err
	}
	out := bufio.NewWriter(s.out) // keeps the first error until Flush
	left := 0
	for _, bad := range report.Bad {
		if !bad.Dropped {
			left++
		}
	}
	if asJSON {
		err = writeJSON(out, report)
	} else {
		err = nil
		report.write(out)
	}
	if err = errors.Join(err, out.Flush()); err == nil && left > 0 {
		err = fmt.Errorf("%s damaged: they are woven again when they are asked for; --drop removes them now", count(left, "entry is", "entries are"))
	}
	return err
}

func verifyAll(ctx context.Context, d *cache.Disk, drop bool) (cacheVerifyJSON, error) {
	report := cacheVerifyJSON{Dir: d.Dir(), Bad: []cacheDamageJSON{}}
	err := d.Each(ctx, nil, func(item cache.Item) error {
		report.Entries++
		report.Bytes += item.Size
		switch {
		case item.Err == nil:
			return nil
		case errors.Is(item.Err, cache.ErrOther):
			report.Other++
			return nil
		}
		bad := cacheDamageJSON{Key: item.Key.String(), Reason: oneLine(item.Err)}
		var err error
		if drop && errors.Is(item.Err, cache.ErrDamaged) {
			bad.Dropped, err = d.Drop(ctx, item.Key)
		}
		report.Bad = append(report.Bad, bad)
		return err
	})
	return report, err
}

func (r *cacheVerifyJSON) write(out *bufio.Writer) {
	for _, bad := range r.Bad {
		dropped := ""
		if bad.Dropped {
			dropped = " (dropped)"
		}
		_, _ = fmt.Fprintf(out, "%s%s\n", printable(bad.Reason), dropped)
	}
	_, _ = fmt.Fprintf(out, "%s read, %s; %s damaged\n", count(r.Entries, "entry", "entries"), diskText(r.Bytes), grouped(len(r.Bad)))
	if r.Other > 0 {
		_, _ = fmt.Fprintf(out, "%s of a format of other versions of Sonde\n", count(r.Other, "entry is", "entries are"))
	}
}
