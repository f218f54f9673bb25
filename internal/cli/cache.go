package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// cacheDirFlags are the flags that locate the cache.
type cacheDirFlags struct {
	dir   string
	trust []string
}

func newCache(s streams) *cobra.Command {
	place := &cacheDirFlags{}
	command := &cobra.Command{
		Use:   "cache",
		Short: "Show and clean up the cache of woven classes",
		Long:  cacheLong,
		Example: `  sonde cache ls 'com.acme.**'
  sonde cache show com.acme.Order --code
  sonde cache stats
  sonde cache prune --to 64M`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("sonde cache has no command %q: use ls, show, stats, verify or prune", args[0])
			}
			return cmd.Help()
		},
	}
	place.addFlags(command.PersistentFlags())
	command.AddCommand(newCacheList(s, place), newCacheShow(s, place), newCacheStats(s, place), newCacheVerify(s, place), newCachePrune(s, place))
	return command
}

// addFlags adds the flags to a command.
func (p *cacheDirFlags) addFlags(flags flagSet) {
	flags.StringVar(&p.dir, "cache", "", "`DIR` of the cache, instead of the user's default")
	flags.StringSliceVar(&p.trust, "cache-trust", nil, "`USER` whose woven classes are also accepted; may be repeated")
}

// options returns the options of the command line.
func (p *cacheDirFlags) options() (cache.Options, error) {
	o := cache.Options{Dir: p.dir}
	if named := os.Getenv(cacheVariable); p.dir == "" && named != cacheOff {
		o.Dir = named
	}
	for _, name := range p.trust {
		uid, err := cache.LookupUser(name)
		if err != nil {
			return o, usage("--cache-trust: %w", err)
		}
		o.Trust = append(o.Trust, uid)
	}
	return o, nil
}

// errNothingCached says that the user has no cache yet.
var errNothingCached = errors.New("nothing is cached yet")

// open opens an existing cache. It returns errNothingCached if that of the user does not
// exist yet.
func (p *cacheDirFlags) open() (*cache.Disk, error) {
	o, err := p.options()
	if err != nil {
		return nil, err
	}
	o.Existing = true
	d, err := cache.OpenDisk(o)
	if o.Dir == "" && errors.Is(err, fs.ErrNotExist) {
		return nil, errNothingCached
	}
	return d, err
}

// parseSize reads a number of bytes, such as 64M.
func parseSize(text string) (int64, error) {
	number := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(strings.TrimSpace(text)), "B"), "I")
	shift := 0
	for i, unit := range []string{"K", "M", "G", "T"} {
		if cut, is := strings.CutSuffix(number, unit); is {
			number, shift = strings.TrimSpace(cut), 10*(i+1)
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("%q is not a size, such as 64M, 1G or 0", text)
	}
	return n << shift, nil
}

// bytesText writes an exact number of bytes.
func bytesText(n int) string { return format.Count(n, "byte", "bytes") }

// diskText writes a size on disk.
func diskText(n int64) string {
	if n == 0 {
		return "0"
	}
	return format.Size(n)
}

const cacheLong = `Sonde weaves a class once and caches the result with a description. For the same class
file, the same hooks and the same engine, the result comes from the cache, in any
process. These commands show what is cached.

The cache is in the user's cache directory ($XDG_CACHE_HOME/sonde/woven, or
~/.cache/sonde/woven), for this user only. It takes at most 256M: the entries that were
not used for the longest time are removed. It can be deleted at any time.

Cached code goes into programs, so Sonde refuses a directory or file that somebody else
could have written. --cache-trust names other users whose entries are accepted besides
your own and those of root; commands that weave have --cache-share, which lets others
read.

All commands that put hooks into a JVM use the cache, and print how many classes they
wove and how many came from the cache. --cache DIR uses another directory, --no-cache
none; SONDE_CACHE=DIR and SONDE_CACHE=off do the same for all commands.`

const cacheShowLong = `Show a woven class: which methods have hooks, which were left alone and why, and the ids
by which woven code names methods. Name it by its key or the beginning of the key (sonde
cache ls shows keys), or by its class; of several entries of a class, the one that was
used last is shown.

--code      shows the woven code instead, with the offset of each instruction
--original  shows what weaving has changed: the difference from the class file, or the
            class in the jar, directory or lib/modules, to the woven class. It must be
            the file that was woven
--offsets   also shows where instructions have moved
--trace     reads a stack trace from a file, or - for standard input, and writes it with
            the offsets of the original for frames of this class:
              com/acme/Order.pay(I)V @57          errors of the verifier
              j  com.acme.Order.pay(I)V+57        hs_err files
              com.acme.Order.pay(int) @bci=57     jhsdb jstack
            Line numbers are those of the original in any case: weaving keeps them.

docs/formats/cache.md describes the output of --json.`

const cacheVerifyLong = `Read every entry of the cache and check its checksum, that it belongs to its key, and that
nobody else could have written it. Entries are also checked on every use, and woven again
if they are damaged; this command shows the state of the disk.

Exit code: 0 if no entry is damaged, or the damaged ones were dropped; 1 on an error or if
entries are damaged; 2 for a wrong command line.`

const cachePruneLong = `Remove the entries that were not used for the longest time until the rest takes at most
--to on disk, and unfinished files of processes that were killed. Without --to, only what
exceeds the limit of the cache is removed.

Other processes may use the cache at the same time.`

func newCachePrune(s streams, place *cacheDirFlags) *cobra.Command {
	var to string
	var asJSON bool
	command := &cobra.Command{
		Use:   "prune",
		Short: "Remove entries that were not used for the longest time",
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

func cachePrune(ctx context.Context, s streams, place *cacheDirFlags, to int64, asJSON bool) error {
	var report document.CachePrune
	d, err := place.open()
	if err == nil {
		defer func() { _ = d.Close() }() // nothing is left to write
		gone, pruneErr := d.Prune(ctx, to)
		report, err = document.CachePrune{Dir: d.Dir(), Entries: gone.Entries, Bytes: gone.Bytes, Left: gone.Left}, pruneErr
	}
	switch {
	case errors.Is(err, cache.ErrBusy):
		return fmt.Errorf("%w: try again", err)
	case err != nil && !errors.Is(err, errNothingCached):
		return err
	case asJSON:
		return document.Write(s.out, report)
	}
	_, err = fmt.Fprintf(s.out, "removed %s, %s; %s left\n", format.Count(report.Entries, "entry", "entries"), diskText(report.Bytes), diskText(report.Left))
	return err
}

func newCacheVerify(s streams, place *cacheDirFlags) *cobra.Command {
	var drop, asJSON bool
	command := &cobra.Command{
		Use:   "verify",
		Short: "Check all entries, and report damaged ones",
		Long:  cacheVerifyLong,
		Example: `  sonde cache verify
  sonde cache verify --drop`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cacheVerify(cmd.Context(), s, place, drop, asJSON)
		},
	}
	command.Flags().BoolVar(&drop, "drop", false, "remove damaged entries")
	command.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	return command
}

func cacheVerify(ctx context.Context, s streams, place *cacheDirFlags, drop, asJSON bool) error {
	report := document.CacheVerify{Bad: []document.CacheDamage{}}
	d, err := place.open()
	if err == nil {
		defer func() { _ = d.Close() }() // nothing is left to write
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
		err = document.Write(out, report)
	} else {
		err = nil
		writeCacheVerify(out, &report)
	}
	if err = errors.Join(err, out.Flush()); err == nil && left > 0 {
		err = fmt.Errorf("%s damaged: damaged entries are woven again when they are needed; --drop removes them now", format.Count(left, "entry is", "entries are"))
	}
	return err
}

func verifyAll(ctx context.Context, d *cache.Disk, drop bool) (document.CacheVerify, error) {
	report := document.CacheVerify{Dir: d.Dir(), Bad: []document.CacheDamage{}}
	err := d.Each(ctx, nil, func(item cache.Item) error {
		report.Entries++
		report.Bytes += item.Size
		switch {
		case item.Err == nil:
			return nil
		case errors.Is(item.Err, cache.ErrVersion):
			report.Other++
			return nil
		}
		bad := document.CacheDamage{Key: item.Key.String(), Reason: format.OneLine(item.Err)}
		var err error
		if drop && errors.Is(item.Err, cache.ErrDamaged) {
			bad.Dropped, err = d.Drop(ctx, item.Key)
		}
		report.Bad = append(report.Bad, bad)
		return err
	})
	return report, err
}

func writeCacheVerify(out *bufio.Writer, r *document.CacheVerify) {
	for _, bad := range r.Bad {
		dropped := ""
		if bad.Dropped {
			dropped = " (dropped)"
		}
		_, _ = fmt.Fprintf(out, "%s%s\n", format.Printable(bad.Reason), dropped)
	}
	_, _ = fmt.Fprintf(out, "%s read, %s; %s damaged\n", format.Count(r.Entries, "entry", "entries"), diskText(r.Bytes), format.Grouped(len(r.Bad)))
	if r.Other > 0 {
		_, _ = fmt.Fprintf(out, "%s of a format of another version of Sonde\n", format.Count(r.Other, "entry is", "entries are"))
	}
}

// cacheListCommand is a `sonde cache ls` command line.
type cacheListCommand struct {
	streams
	place *cacheDirFlags
	sort  string
	top   int
	json  bool
}

func newCacheList(s streams, place *cacheDirFlags) *cobra.Command {
	c := &cacheListCommand{streams: s, place: place, sort: "used"}
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

func (c *cacheListCommand) run(ctx context.Context, patterns []string) error {
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

func (c *cacheListCommand) write(dir string, items []cache.Item, unread int) error {
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
		_, _ = fmt.Fprintf(c.err, "note: %s not be read: sonde cache verify shows why\n", format.Count(unread, "entry could", "entries could"))
	}
	return out.Flush()
}

// shownKey is how much of a key is shown: enough to distinguish entries.
const shownKey = 12

func newCacheStats(s streams, place *cacheDirFlags) *cobra.Command {
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

func cacheStats(ctx context.Context, s streams, place *cacheDirFlags, asJSON bool) error {
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
			var reason *weave.Reason
			if errors.As(item.Entry.Methods[i].Reason, &reason) {
				reasons[string(reason.Kind)]++
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
		line("unreadable", "%s: sonde cache verify shows why", format.Count(s.Unread, "entry", "entries"))
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
