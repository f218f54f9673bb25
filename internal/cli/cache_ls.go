package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/classfile/descriptor"
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
		Short: "List the classes that are kept",
		Long: `List the classes that are kept as they were woven, those first that were of use last.
A CLASS is a name in which * stands for part of a name, ** for any packages.`,
		Example: `  sonde cache ls
  sonde cache ls com.acme.Order 'com.acme.shop.**'
  sonde cache ls --sort size --top 20
  sonde cache ls --json | jq '.entries[].class'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.top < 0 {
				return usage("--top must not be negative")
			}
			if cacheOrders[c.sort] == nil {
				return usage("--sort %q: must be used, size or class", c.sort)
			}
			return c.run(cmd.Context(), args)
		},
	}
	command.Flags().StringVar(&c.sort, "sort", c.sort, "`ORDER`: used, size or class")
	command.Flags().IntVar(&c.top, "top", 0, "show so many; 0 for all")
	command.Flags().BoolVar(&c.json, "json", false, "write one JSON object")
	return command
}

var cacheOrders = map[string]func(a, b cache.Item) int{
	"used":  func(a, b cache.Item) int { return b.Used.Compare(a.Used) },
	"size":  func(a, b cache.Item) int { return cmp.Compare(b.Size, a.Size) },
	"class": func(a, b cache.Item) int { return cmp.Compare(a.Entry.Class, b.Entry.Class) },
}

// classFilter tells which classes some patterns name; all where there are none.
func classFilter(patterns []string) (func(internal string) bool, error) {
	var all []*pattern.Pattern
	for _, text := range patterns {
		p, err := pattern.Parse(text + ".*") // any method of it
		if err != nil {
			return nil, usage("%q is no name of a class, nor a pattern of such, as com.acme.Order or 'com.acme.**'", text)
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
		return errors.Join(writeJSON(out, describeCacheList(dir, items, unread)), out.Flush())
	}
	if all == 0 {
		_, _ = fmt.Fprintln(out, "nothing is cached"+map[bool]string{false: "", true: " that can be read"}[unread > 0])
	} else {
		columns := []column{{title: "KEY"}, {"USED", true}, {"WOVEN", true}, {"LEFT", true}, {"BYTES", true}, {title: "CLASS"}}
		var rows [][]string
		for _, item := range items {
			woven, left := methodCounts(item.Entry)
			rows = append(rows, []string{
				item.Key.String()[:shownKey], shortDuration(time.Since(item.Used)) + " ago", grouped(woven), grouped(left), grouped(int(item.Size)),
				printable(descriptor.ExternalName(item.Entry.Class)),
			})
		}
		writeTable(out, columns, rows, c.outWidth())
	}
	if hidden := all - len(items); hidden > 0 {
		_, _ = fmt.Fprintf(out, "and %s (--top 0 shows all)\n", count(hidden, "entry more", "entries more"))
	}
	if unread > 0 {
		_, _ = fmt.Fprintf(c.err, "note: %s not be read: sonde cache verify says why\n", count(unread, "entry could", "entries could"))
	}
	return out.Flush()
}

// shownKey is how much of a key is shown: enough to tell entries apart.
const shownKey = 12

// methodCounts are those that are woven, and that were left alone.
func methodCounts(e *cache.Entry) (woven, left int) {
	for i := range e.Methods {
		if e.Methods[i].Woven {
			woven++
		} else {
			left++
		}
	}
	return woven, left
}
