package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// cacheList is a `sonde cache ls` command line.
type cacheList struct {
	streams
	place *cachePlace
	sort  string
	top   int
	json  bool
}

func newCacheList(s streams, place *cachePlace) *cobra.Command {
	c := &cacheList{streams: s, place: place, sort: "used"}
	command := &cobra.Command{
		Use:   "ls [CLASS...]",
		Short: "List the cached classes",
		Long: `List the cached classes, the last used first. In CLASS, * matches a part of a name and **
any packages.`,
		Example: `  sonde cache ls
  sonde cache ls com.acme.Order 'com.acme.shop.**'
  sonde cache ls --sort size --top 20
  sonde cache ls --json | jq '.entries[].class'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd.Context(), args)
		},
	}
	command.Flags().Var(oneOf(&c.sort, "used", "used", "size", "class"), "sort", "`ORDER`: used, size or class")
	command.Flags().Var(number(&c.top, 0, 0, 0), "top", "show so many entries; 0 for all")
	command.Flags().BoolVar(&c.json, "json", false, "write one JSON object")
	return command
}

var cacheOrders = map[string]func(a, b cache.Item) int{
	"used":  func(a, b cache.Item) int { return b.Used.Compare(a.Used) },
	"size":  func(a, b cache.Item) int { return cmp.Compare(b.Size, a.Size) },
	"class": func(a, b cache.Item) int { return cmp.Compare(a.Entry.Class, b.Entry.Class) },
}

// classFilter returns whether a class matches one of the patterns, or true without any.
func classFilter(patterns []string) (func(internal string) bool, error) {
	var all []*pattern.Pattern
	for _, text := range patterns {
		p, err := pattern.Parse(text + ".*") // any method of it
		if err != nil {
			return nil, usage("%q is not a class or a pattern of classes, such as com.acme.Order or 'com.acme.**'", text)
		}
		all = append(all, p)
	}
	return func(internal string) bool {
		return len(all) == 0 || slices.ContainsFunc(all, func(p *pattern.Pattern) bool { return p.MatchClass(internal) })
	}, nil
}

func (c *cacheList) run(ctx context.Context, patterns []string) error {
	isWanted, err := classFilter(patterns)
	if err != nil {
		return err
	}
	d, err := c.place.open()
	if errors.Is(err, errNothingCached) {
		return c.write("", nil, 0)
	}
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // only read
	var items []cache.Item
	unread := 0
	err = d.Each(ctx, nil, func(item cache.Item) error {
		switch {
		case item.Entry == nil:
			unread++
		case isWanted(item.Entry.Class):
			item.Entry.Woven = nil // there may be many
			items = append(items, item)
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(items, cacheOrders[c.sort])
	return c.write(d.Dir(), items, unread)
}

func (c *cacheList) write(dir string, items []cache.Item, unread int) error {
	out := bufio.NewWriter(c.out) // keeps the first error until Flush
	all := len(items)
	if c.top > 0 {
		items = items[:min(len(items), c.top)]
	}
	if c.json {
		return errors.Join(document.Write(out, document.NewCacheList(dir, items, unread)), out.Flush())
	}
	if all == 0 {
		_, _ = fmt.Fprintln(out, "nothing is cached"+map[bool]string{false: "", true: " that can be read"}[unread > 0])
	} else {
		columns := format.Columns("KEY", ">USED", ">WOVEN", ">LEFT", ">BYTES", "CLASS")
		var rows [][]string
		for _, item := range items {
			woven, left := document.MethodCounts(item.Entry)
			rows = append(rows, []string{
				item.Key.String()[:shownKey], format.ShortDuration(time.Since(item.Used)) + " ago", format.Grouped(woven), format.Grouped(left), format.Grouped(int(item.Size)),
				format.Printable(descriptor.ExternalName(item.Entry.Class)),
			})
		}
		format.WriteTable(out, columns, rows, c.outWidth())
	}
	if hidden := all - len(items); hidden > 0 {
		_, _ = fmt.Fprintf(out, "and %s (--top 0 shows all)\n", format.Count(hidden, "entry more", "entries more"))
	}
	if unread > 0 {
		_, _ = fmt.Fprintf(c.err, "note: %s not be read: sonde cache verify says why\n", format.Count(unread, "entry could", "entries could"))
	}
	return out.Flush()
}

// shownKey is how much of a key is shown: enough to distinguish entries.
const shownKey = 12

func newCacheStats(s streams, place *cachePlace) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "stats",
		Short: "Sum up the cache",
		Long: `Sum up the cache: its size and limit, classes and methods, the engines that wove them, and
the reasons why methods were left alone.`,
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
	stats := document.CacheStats{Bound: cache.DefaultBound, Engines: []document.CacheShare{}, Reasons: []document.CacheShare{}}
	d, err := place.open()
	if err == nil {
		defer func() { _ = d.Close() }() // only read
		stats, err = sumCache(ctx, d)
	}
	switch {
	case err != nil && !errors.Is(err, errNothingCached):
		return err
	case asJSON:
		return document.Write(s.out, stats)
	case err != nil:
		_, err = fmt.Fprintln(s.out, "nothing is cached yet")
		return err
	}
	out := bufio.NewWriter(s.out) // keeps the first error until Flush
	writeCacheStats(out, &stats)
	return out.Flush()
}

func sumCache(ctx context.Context, d *cache.Disk) (document.CacheStats, error) {
	s := document.CacheStats{Dir: d.Dir(), Writable: d.ReadOnly() == nil, Bound: d.Bound(), Unfinished: d.Unfinished()}
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
		woven, left := document.MethodCounts(item.Entry)
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

// cacheShares returns counts, the largest first.
func cacheShares(counts map[string]int) []document.CacheShare {
	shares := []document.CacheShare{}
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		shares = append(shares, document.CacheShare{What: what, Count: counts[what]})
	}
	slices.SortStableFunc(shares, func(a, b document.CacheShare) int { return cmp.Compare(b.Count, a.Count) })
	return shares
}

func writeCacheStats(out *bufio.Writer, s *document.CacheStats) {
	line := func(name, text string, args ...any) {
		_, _ = fmt.Fprintf(out, "%-11s %s\n", name, fmt.Sprintf(text, args...))
	}
	line("directory", "%s%s", format.Printable(s.Dir), map[bool]string{true: "", false: ", read-only"}[s.Writable])
	line("room", "%s of %s on disk", diskText(s.OnDisk), diskText(s.Bound))
	line("entries", "%s of %s", format.Grouped(s.Entries), format.Count(s.Classes, "class", "classes"))
	line("methods", "%s woven, %s left alone", format.Grouped(s.Woven), format.Grouped(s.Left))
	if s.Entries > 0 {
		line("used", "last %s, the oldest %s", since(s.LastUse), since(s.FirstUse))
	}
	if s.Unread > 0 {
		line("unreadable", "%s: sonde cache verify says why", format.Count(s.Unread, "entry", "entries"))
	}
	if s.Unfinished > 0 {
		line("unfinished", "%s being written, or left by killed processes", format.Count(s.Unfinished, "file", "files"))
	}
	for _, e := range s.Engines {
		line("engine", "%s: %s", format.Printable(e.What), format.Count(e.Count, "entry", "entries"))
	}
	for _, r := range s.Reasons {
		line("left alone", "%s: %s", format.Printable(r.What), format.Count(r.Count, "method", "methods"))
	}
}

// since says how long ago something was.
func since(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return format.ShortDuration(time.Since(at)) + " ago"
}

// idText writes an id as in woven code.
func idText(id uint32) string { return strconv.Itoa(int(int32(id))) }
