package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// cacheStatsJSON is what `sonde cache stats --json` writes.
type cacheStatsJSON struct {
	Dir        string           `json:"dir"`
	Writable   bool             `json:"writable"`
	Bound      int64            `json:"bound"`
	Entries    int              `json:"entries"`
	Bytes      int64            `json:"bytes"`
	OnDisk     int64            `json:"bytesOnDisk"`
	Classes    int              `json:"classes"`
	Woven      int              `json:"methodsWoven"`
	Left       int              `json:"methodsLeftAlone"`
	Unread     int              `json:"unreadable"`
	Unfinished int              `json:"unfinished"`
	LastUse    time.Time        `json:"lastUse"`
	FirstUse   time.Time        `json:"longestUnused"`
	Engines    []cacheShareJSON `json:"engines"`
	Reasons    []cacheShareJSON `json:"reasons"`
}

// cacheShareJSON is how many entries or methods have something in common.
type cacheShareJSON struct {
	What  string `json:"what"`
	Count int    `json:"count"`
}

func newCacheStats(s streams, place *cachePlace) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "stats",
		Short: "Sum up what is kept",
		Long: `Sum up what is kept: how much of what room, how many classes and methods, by which
engines, and for which reasons methods were left alone.`,
		Example: `  sonde cache stats
  sonde cache stats --json | jq .bytesOnDisk`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cacheStats(cmd.Context(), s, place, asJSON)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	return command
}

func cacheStats(ctx context.Context, s streams, place *cachePlace, asJSON bool) error {
	stats := cacheStatsJSON{Bound: cache.DefaultBound, Engines: []cacheShareJSON{}, Reasons: []cacheShareJSON{}}
	d, err := place.open()
	if err == nil {
		defer func() { _ = d.Close() }() // only read
		stats, err = sumCache(ctx, d)
	}
	switch {
	case err != nil && !errors.Is(err, errNothingCached):
		return err
	case asJSON:
		return writeJSON(s.out, stats)
	case err != nil:
		_, err = fmt.Fprintln(s.out, "nothing is cached yet")
		return err
	}
	out := bufio.NewWriter(s.out) // keeps the first error until Flush
	stats.write(out)
	return out.Flush()
}

func sumCache(ctx context.Context, d *cache.Disk) (cacheStatsJSON, error) {
	s := cacheStatsJSON{Dir: d.Dir(), Writable: d.ReadOnly() == nil, Bound: d.Bound(), Unfinished: d.Unfinished()}
	classes, engines, reasons := make(map[string]bool), make(map[string]int), make(map[string]int)
	err := d.Each(ctx, nil, func(item cache.Item) error {
		s.Entries++
		s.Bytes += item.Size
		s.OnDisk += item.OnDisk
		if s.Entries == 1 {
			s.LastUse = item.Used.Round(time.Second)
		}
		s.FirstUse = item.Used.Round(time.Second)
		if item.Entry == nil {
			s.Unread++
			return nil
		}
		woven, left := methodCounts(item.Entry)
		s.Woven += woven
		s.Left += left
		classes[item.Entry.Class] = true
		engines[item.Entry.Engine]++
		for i := range item.Entry.Methods {
			if m := &item.Entry.Methods[i]; !m.Woven {
				reasons[string(m.Reason.Kind)]++
			}
		}
		return nil
	})
	s.Classes, s.Engines, s.Reasons = len(classes), cacheShares(engines), cacheShares(reasons)
	return s, err
}

// cacheShares are sorted, the largest first.
func cacheShares(counts map[string]int) []cacheShareJSON {
	shares := []cacheShareJSON{}
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		shares = append(shares, cacheShareJSON{what, counts[what]})
	}
	slices.SortStableFunc(shares, func(a, b cacheShareJSON) int { return cmp.Compare(b.Count, a.Count) })
	return shares
}

func (s *cacheStatsJSON) write(out *bufio.Writer) {
	line := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(out, "%-11s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("directory", "%s%s", printable(s.Dir), map[bool]string{true: "", false: ", which can only be read"}[s.Writable])
	line("room", "%s of %s on disk", diskText(s.OnDisk), diskText(s.Bound))
	line("entries", "%s of %s", grouped(s.Entries), count(s.Classes, "class", "classes"))
	line("methods", "%s woven, %s left alone", grouped(s.Woven), grouped(s.Left))
	if s.Entries > 0 {
		line("used", "last %s, the oldest %s", since(s.LastUse), since(s.FirstUse))
	}
	if s.Unread > 0 {
		line("unreadable", "%s: sonde cache verify says why", count(s.Unread, "entry", "entries"))
	}
	if s.Unfinished > 0 {
		line("unfinished", "%s being written, or left by processes that were killed", count(s.Unfinished, "file", "files"))
	}
	for _, e := range s.Engines {
		line("engine", "%s: %s", printable(e.What), count(e.Count, "entry", "entries"))
	}
	for _, r := range s.Reasons {
		line("left alone", "%s: %s", printable(r.What), count(r.Count, "method", "methods"))
	}
}

// since is how long ago something was, for people.
func since(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return shortDuration(time.Since(at)) + " ago"
}
