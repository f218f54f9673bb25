package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/classfile/dump"
	"github.com/sonde-jvm/sonde/internal/classes/archive"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

type cacheDirFlags struct {
	dir   string
	trust []string
}

// cacheCommand is the part of a command line that all `sonde cache` commands share.
type cacheCommand struct {
	streams
	cacheDirFlags
	json bool
}

func newCache(s streams) *cobra.Command {
	c := &cacheCommand{streams: s}
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
	c.addFlags(command.PersistentFlags())
	command.AddCommand(newCacheList(c), newCacheShow(c), c.newStats(), c.newVerify(), c.newPrune())
	return command
}

// with makes a command run with the cache; nil if nothing is cached yet.
func (c *cacheCommand) with(command *cobra.Command, run func(ctx context.Context, d *cache.Disk, args []string) error) *cobra.Command {
	command.RunE = func(cmd *cobra.Command, args []string) error {
		d, err := c.open()
		switch {
		case errors.Is(err, errNothingCached):
			return run(cmd.Context(), nil, args)
		case err != nil:
			return err
		}
		defer func() { _ = d.Close() }() // nothing is left to write
		return run(cmd.Context(), d, args)
	}
	command.Flags().BoolVar(&c.json, "json", false, "write one JSON object")
	return command
}

func (p *cacheDirFlags) addFlags(flags flagSet) {
	flags.StringVar(&p.dir, "cache", "", "`DIR` of the cache, instead of the user's default")
	flags.StringSliceVar(&p.trust, "cache-trust", nil, "`USER` whose woven classes are also accepted, who can thereby run code in your JVMs; may be repeated")
}

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

// size is a flag for a number of bytes, such as 64M.
func size(p *int64, value int64) *valueFlag[int64] {
	*p = value
	return &valueFlag[int64]{value: p, kind: "string", want: "a size, such as 64M, 1G or 0", parse: parseSize, text: diskText}
}

func parseSize(text string) (n int64, ok bool) {
	number := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(strings.TrimSpace(text)), "B"), "I")
	shift := 0
	for i, unit := range []string{"K", "M", "G", "T"} {
		if cut, is := strings.CutSuffix(number, unit); is {
			number, shift = strings.TrimSpace(cut), 10*(i+1)
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	return n << shift, err == nil && n >= 0 && n <= math.MaxInt64>>shift
}

func bytesText(n int) string { return format.Count(n, "byte", "bytes") }

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
your own and those of root: they can then run code in the JVMs that you instrument.
Commands that weave have --cache-share, which lets others read.

All commands that put hooks into a JVM use the cache, and print how many classes they
wove and how many came from the cache. --cache DIR uses another directory, --no-cache
none; SONDE_CACHE=DIR and SONDE_CACHE=off do the same for all commands.`

const cacheShowLong = `Show a woven class: which methods have hooks, which have none and why, and the ids
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
entries are damaged; 2 for an invalid command line.`

const cachePruneLong = `Remove the entries that were not used for the longest time until the rest takes at most
--to on disk, and unfinished files of processes that were killed. Without --to, only what
exceeds the limit of the cache is removed.

Other processes may use the cache at the same time.`

func (c *cacheCommand) newPrune() *cobra.Command {
	var to int64
	command := &cobra.Command{
		Use:   "prune",
		Short: "Remove entries that were not used for the longest time",
		Long:  cachePruneLong,
		Example: `  sonde cache prune --to 64M
  sonde cache prune --to 0`,
		Args: exactly(),
	}
	command.Flags().Var(size(&to, cache.DefaultBound), "to", "the `SIZE` to keep, such as 64M")
	return c.with(command, func(ctx context.Context, d *cache.Disk, _ []string) error {
		var report document.CachePrune
		if d != nil {
			gone, err := d.Prune(ctx, to)
			if errors.Is(err, cache.ErrBusy) {
				return fmt.Errorf("%w: try again", err)
			}
			if err != nil {
				return err
			}
			report = document.CachePrune{Dir: d.Dir(), Entries: gone.Entries, Bytes: gone.Bytes, Left: gone.Left}
		}
		return c.writeResult(c.json, report, func(out io.Writer) {
			_, _ = fmt.Fprintf(out, "removed %s, %s; %s left\n", format.Count(report.Entries, "entry", "entries"), diskText(report.Bytes), diskText(report.Left))
		})
	})
}

func (c *cacheCommand) newVerify() *cobra.Command {
	var drop bool
	command := &cobra.Command{
		Use:   "verify",
		Short: "Check all entries, and report damaged ones",
		Long:  cacheVerifyLong,
		Example: `  sonde cache verify
  sonde cache verify --drop`,
		Args: exactly(),
	}
	command.Flags().BoolVar(&drop, "drop", false, "remove damaged entries")
	return c.with(command, func(ctx context.Context, d *cache.Disk, _ []string) error {
		report, err := verifyAll(ctx, d, drop)
		if err != nil {
			return err
		}
		err = c.writeResult(c.json, report, func(out io.Writer) { writeCacheVerify(out, &report) })
		left := slices.DeleteFunc(report.Bad, func(bad document.CacheDamage) bool { return bad.Dropped })
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%s damaged: damaged entries are woven again when they are needed; --drop removes them now", format.Count(len(left), "entry is", "entries are"))
		}
		return err
	})
}

func verifyAll(ctx context.Context, d *cache.Disk, drop bool) (document.CacheVerify, error) {
	report := document.CacheVerify{Bad: []document.CacheDamage{}}
	if d == nil {
		return report, nil
	}
	report.Dir = d.Dir()
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

func writeCacheVerify(out io.Writer, r *document.CacheVerify) {
	for _, bad := range r.Bad {
		dropped := ""
		if bad.Dropped {
			dropped = " (dropped)"
		}
		_, _ = fmt.Fprintf(out, "%s%s\n", format.Printable(bad.Reason), dropped)
	}
	_, _ = fmt.Fprintf(out, "%s read, %s; %s damaged\n", format.Count(r.Entries, "entry", "entries"), diskText(r.Bytes), format.Grouped(len(r.Bad)))
	if r.Other > 0 {
		_, _ = fmt.Fprintf(out, "%s written by another version of Sonde\n", format.Count(r.Other, "entry was", "entries were"))
	}
}

type cacheListCommand struct {
	*cacheCommand
	sort     string
	top      int
	isWanted func(class string) bool
}

func newCacheList(of *cacheCommand) *cobra.Command {
	c := &cacheListCommand{cacheCommand: of}
	command := &cobra.Command{
		Use:   "ls [CLASS...]",
		Short: "List the cached classes",
		Long: `List the cached classes, the last used first. In CLASS, * matches a part of a name and **
any packages.`,
		Example: `  sonde cache ls
  sonde cache ls com.acme.Order 'com.acme.shop.**'
  sonde cache ls --sort size --top 20
  sonde cache ls --json | jq '.entries[].class'`,
		PreRunE: func(_ *cobra.Command, args []string) (err error) {
			c.isWanted, err = classFilter(args)
			return err
		},
	}
	command.Flags().Var(oneOf(&c.sort, "used", "used", "size", "class"), "sort", "`ORDER`: used, size or class")
	command.Flags().VarP(number(&c.top, 0, 0, 0), "top", "n", "show at most `N` entries; 0 shows all")
	return c.with(command, c.run)
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
			return nil, usage("%q: must be a class or a pattern of classes, such as com.acme.Order or 'com.acme.**'", text)
		}
		all = append(all, p)
	}
	return func(internal string) bool {
		return len(all) == 0 || slices.ContainsFunc(all, func(p *pattern.Pattern) bool { return p.MatchClass(internal) })
	}, nil
}

func (c *cacheListCommand) run(ctx context.Context, d *cache.Disk, _ []string) error {
	if d == nil {
		return c.write("", nil, 0)
	}
	var items []cache.Item
	unread := 0
	err := d.Each(ctx, nil, func(item cache.Item) error {
		switch {
		case item.Entry == nil:
			unread++
		case c.isWanted(item.Entry.Class):
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
	shown, hidden := topOf(items, c.top)
	if c.json {
		return document.Write(c.out, document.NewCacheList(dir, shown, unread))
	}
	if unread > 0 {
		c.note(format.Count(unread, "entry could", "entries could") + " not be read: sonde cache verify shows why")
	}
	switch {
	case len(items) == 0 && unread > 0:
		_, err := fmt.Fprintln(c.out, "nothing is cached that can be read")
		return err
	case len(items) == 0:
		_, err := fmt.Fprintln(c.out, "nothing is cached")
		return err
	}
	var rows [][]string
	for _, item := range shown {
		woven, left := document.MethodCounts(item.Entry)
		rows = append(rows, []string{
			item.Key.String()[:shownKey], since(item.Used), format.Grouped(woven), format.Grouped(left), format.Grouped(int(item.Size)),
			format.Printable(descriptor.ExternalName(item.Entry.Class)),
		})
	}
	return c.print(func(out io.Writer) {
		format.WriteTable(out, format.Columns("KEY", ">USED", ">WOVEN", ">LEFT", ">BYTES", "CLASS"), rows, c.outWidth())
		if hidden > 0 {
			_, _ = fmt.Fprintf(out, "and %s (--top 0 shows all)\n", format.Count(hidden, "entry more", "entries more"))
		}
	})
}

// shownKey is how much of a key is shown: enough to distinguish entries.
const shownKey = 12

func (c *cacheCommand) newStats() *cobra.Command {
	command := &cobra.Command{
		Use:   "stats",
		Short: "Sum up the cache",
		Long: `Sum up the cache: its size and limit, classes and methods, the engines that wove them, and
the reasons why methods were not woven.`,
		Example: `  sonde cache stats
  sonde cache stats --json | jq .bytesOnDisk`,
		Args: exactly(),
	}
	return c.with(command, func(ctx context.Context, d *cache.Disk, _ []string) error {
		stats, err := sumCache(ctx, d)
		switch {
		case err != nil:
			return err
		case c.json:
			return document.Write(c.out, stats)
		case d == nil:
			_, err := fmt.Fprintln(c.out, errNothingCached)
			return err
		}
		return c.print(func(out io.Writer) { writeCacheStats(out, &stats) })
	})
}

func sumCache(ctx context.Context, d *cache.Disk) (document.CacheStats, error) {
	if d == nil {
		return document.CacheStats{Bound: cache.DefaultBound, Engines: []document.CacheShare{}, Reasons: []document.CacheShare{}}, nil
	}
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

func writeCacheStats(out io.Writer, s *document.CacheStats) {
	line := fields(out, 12)
	line("directory", "%s%s", s.Dir, map[bool]string{true: "", false: ", read-only"}[s.Writable])
	line("size", "%s on disk, at most %s", diskText(s.OnDisk), diskText(s.Bound))
	line("entries", "%s of %s", format.Grouped(s.Entries), format.Count(s.Classes, "class", "classes"))
	line("methods", "%s woven, %s not woven", format.Grouped(s.Woven), format.Grouped(s.Left))
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
		line("engine", "%s: %s", e.What, format.Count(e.Count, "entry", "entries"))
	}
	for _, r := range s.Reasons {
		line("not woven", "%s: %s", r.What, format.Count(r.Count, "method", "methods"))
	}
}

func since(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return format.ShortDuration(time.Since(at)) + " ago"
}

// idText writes an id as in woven code.
func idText(id uint32) string { return strconv.Itoa(int(int32(id))) }

type cacheShowCommand struct {
	*cacheCommand
	code     bool
	original string
	method   string
	trace    string
	offsets  bool
}

func newCacheShow(of *cacheCommand) *cobra.Command {
	c := &cacheShowCommand{cacheCommand: of}
	command := &cobra.Command{
		Use:   "show KEY|CLASS",
		Short: "Show a woven class: methods, reasons, code, offsets",
		Long:  cacheShowLong,
		Example: `  sonde cache show com.acme.Order
  sonde cache show com.acme.Order --code --method pay
  sonde cache show 3f9c21a0 --original app.jar
  sonde cache show com.acme.Order --trace hs_err_pid4711.log`,
		Args:    exactly("the KEY or CLASS to show"),
		PreRunE: func(*cobra.Command, []string) error { return c.check() },
	}
	flags := command.Flags()
	flags.BoolVar(&c.code, "code", false, "show the woven code")
	flags.StringVar(&c.original, "original", "", "show what weaving changed: `FILE`, JAR, DIR or lib/modules with the original")
	flags.StringVarP(&c.method, "method", "m", "", "with --code or --original: only the methods that match `PATTERN`")
	flags.BoolVar(&c.offsets, "offsets", false, "show where instructions have moved")
	flags.StringVar(&c.trace, "trace", "", "write a stack trace, read from `FILE` or -, with the offsets of the original")
	return c.with(command, c.run)
}

func (c *cacheShowCommand) check() error {
	switch {
	case c.code && c.original != "":
		return usage("--code and --original cannot be used together")
	case c.trace != "" && (c.code || c.original != "" || c.offsets || c.json):
		return usage("--trace cannot be combined with other output flags")
	case c.method != "" && !c.code && c.original == "":
		return usage("--method needs --code or --original")
	case c.offsets && (c.code || c.original != ""):
		return usage("--offsets cannot be used with --code or --original")
	}
	return nil
}

func (c *cacheShowCommand) run(ctx context.Context, d *cache.Disk, args []string) error {
	if d == nil {
		return errNothingCached
	}
	item, err := c.find(ctx, d, args[0])
	if err != nil {
		return err
	}
	out := bufio.NewWriter(c.out) // keeps the first error until Flush
	switch {
	case c.trace != "":
		err = c.writeTrace(out, item.Entry)
	case c.json:
		err = c.writeJSON(ctx, out, item)
	case c.code:
		err = c.writeCode(out, item.Entry)
	case c.original != "":
		err = c.writeDiff(ctx, out, item.Entry)
	default:
		err = c.writeText(out, item)
	}
	return errors.Join(err, out.Flush())
}

// find returns the entry with a key, the beginning of a key, or a class.
func (c *cacheShowCommand) find(ctx context.Context, d *cache.Disk, name string) (cache.Item, error) {
	const least = 4 // of a key
	var found []cache.Item
	lower := strings.ToLower(name)
	isKey := func(key cache.Key) bool { return strings.HasPrefix(key.String(), lower) }
	if len(name) >= least && strings.Trim(lower, "0123456789abcdef") == "" {
		err := d.Each(ctx, isKey, func(item cache.Item) error {
			found = append(found, item)
			return nil
		})
		if err != nil {
			return cache.Item{}, err
		}
		if len(found) > 1 {
			return cache.Item{}, fmt.Errorf("%s keys begin with %s: give more characters", format.Grouped(len(found)), name)
		}
		if len(found) == 1 && found[0].Entry == nil {
			return cache.Item{}, found[0].Err
		}
	}
	if len(found) == 0 {
		internal := descriptor.InternalName(name)
		err := d.Each(ctx, nil, func(item cache.Item) error {
			if item.Entry != nil && item.Entry.Class == internal {
				found = append(found, item)
			}
			return nil
		})
		if err != nil {
			return cache.Item{}, err
		}
	}
	if len(found) == 0 {
		return cache.Item{}, fmt.Errorf("no entry in %s has the key or class %q: sonde cache ls lists them", d.Dir(), name)
	}
	if others := len(found) - 1; others > 0 {
		_, _ = fmt.Fprintf(c.err, "note: the cache has %s of this class (sonde cache ls %s lists them); the one used last is shown\n",
			format.Count(others, "more entry", "more entries"), name)
	}
	return found[0], nil
}

func (c *cacheShowCommand) writeText(out io.Writer, item cache.Item) error {
	e := item.Entry
	woven, left := document.MethodCounts(e)
	line := fields(out, 10)
	line("class", "%s", descriptor.ExternalName(e.Class))
	line("key", "%s", item.Key)
	line("original", "%s, SHA-256 %x", bytesText(e.Original.Size), e.Original.Digest)
	line("woven", "%s", bytesText(len(e.Woven)))
	line("made", "%s, by %s", e.Made.Local().Format(time.DateTime), e.Engine)
	line("used", "%s (%s)", item.Used.Local().Format(time.DateTime), since(item.Used))
	line("methods", "%s woven, %s not woven", format.Grouped(woven), format.Grouped(left))
	if woven > 0 {
		_, _ = fmt.Fprintln(out)
		format.WriteTable(out, format.Columns(">ID", ">CALLS", "TEMPLATES", "METHOD"), wovenRows(e), c.outWidth())
	}
	writeLeft(out, e)
	if len(e.Calls) > 0 {
		_, _ = fmt.Fprintln(out, "\nmethods whose calls have hooks")
	}
	for _, s := range e.Calls {
		_, _ = fmt.Fprintf(out, "  %11s  %s\n", idText(s.ID), format.Printable(descriptor.ExternalName(s.Class)+"."+s.Name+s.Descriptor))
	}
	if c.offsets {
		return writeOffsets(out, e)
	}
	return nil
}

func wovenRows(e *cache.Entry) (rows [][]string) {
	for i := range e.Methods {
		m := &e.Methods[i]
		if !m.Woven {
			continue
		}
		id, sites := "-", "-"
		if m.HasID {
			id = idText(m.ID)
		}
		if m.Sites > 0 {
			sites = format.Grouped(m.Sites)
		}
		rows = append(rows, []string{id, sites, format.OrDash(format.Printable(strings.Join(m.Templates, ", "))), format.Printable(m.Name + m.Descriptor)})
	}
	return rows
}

func writeLeft(out io.Writer, e *cache.Entry) {
	var lines []string
	for i := range e.Methods {
		m := &e.Methods[i]
		if !m.Woven {
			lines = append(lines, m.Name+m.Descriptor+": "+m.Reason.Error())
		}
		for j := range m.Left {
			l := &m.Left[j]
			lines = append(lines, fmt.Sprintf("%s, its call of %s at %d: %s", m.Name+m.Descriptor, document.CallName(l.Call), l.Offset, l.Reason.Error()))
		}
	}
	if len(lines) > 0 {
		_, _ = fmt.Fprintln(out, "\nnot woven")
	}
	for _, line := range slices.Compact(lines) {
		_, _ = fmt.Fprintf(out, "  %s\n", format.Printable(line))
	}
}

func writeOffsets(out io.Writer, e *cache.Entry) error {
	_, _ = fmt.Fprintln(out, "\noffsets: in the original, and in the woven code")
	for i := range e.Methods {
		m := &e.Methods[i]
		shifts, err := m.Offsets.Map()
		if err != nil {
			return err
		}
		if len(shifts) == 0 {
			continue
		}
		_, _ = fmt.Fprintf(out, "%s\n", format.Printable(m.Name+m.Descriptor))
		for _, s := range shifts {
			last := max(int(s.Size)-1, 0)
			_, _ = fmt.Fprintf(out, "  %d..%d  %d..%d\n", s.Old, int(s.Old)+last, s.New, int(s.New)+last)
		}
	}
	return nil
}

var errNotWoven = errors.New("no method of this class could be woven: sonde cache show says why")

func (c *cacheShowCommand) writeJSON(ctx context.Context, out io.Writer, item cache.Item) error {
	j, err := document.NewCacheShow(item)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	switch {
	case c.code:
		err = c.writeCode(&text, item.Entry)
		j.Code = text.String()
	case c.original != "":
		err = c.writeDiff(ctx, &text, item.Entry)
		j.Diff = text.String()
	}
	return errors.Join(err, document.Write(out, j))
}

func (c *cacheShowCommand) dumper() (*dumpCommand, error) {
	d := &dumpCommand{streams: c.streams, offsets: true}
	return d, d.parseMethod(c.method)
}

func (c *cacheShowCommand) writeCode(out io.Writer, e *cache.Entry) error {
	if e.Woven == nil {
		return errNotWoven
	}
	d, err := c.dumper()
	if err != nil {
		return err
	}
	class, err := classfile.Parse(e.Woven)
	if err != nil {
		return err
	}
	options, isAny := d.options(class)
	if !isAny {
		return fmt.Errorf("no method of %s matches %s", descriptor.ExternalName(e.Class), d.method)
	}
	return dump.Class(out, class, options)
}

func (c *cacheShowCommand) writeDiff(ctx context.Context, out io.Writer, e *cache.Entry) error {
	if e.Woven == nil {
		return errNotWoven
	}
	d, err := c.dumper()
	if err != nil {
		return err
	}
	original, err := findOriginal(ctx, c.original, e)
	if err != nil {
		return err
	}
	text := bufio.NewWriter(out)
	changed, err := d.diffOne(text, c.original, original, e.Woven, false)
	if err == nil && !changed {
		_, err = fmt.Fprintln(text, "no difference")
	}
	return errors.Join(err, text.Flush())
}

// findOriginal returns the class file that was woven. A jar may have several with one name,
// for several releases of Java.
func findOriginal(ctx context.Context, spec string, e *cache.Entry) ([]byte, error) {
	var original []byte
	others := 0
	err := walkSpec(ctx, spec, func(found archive.Entry, _ string, alone bool) error {
		switch {
		case original != nil || !alone && !isFileOf(found.Path, e.Class):
		case cache.OriginalOf(found.Data) == e.Original:
			original = bytes.Clone(found.Data)
		default:
			others++
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	switch {
	case original != nil:
		return original, nil
	case others > 0:
		return nil, fmt.Errorf("%s: its class file of %s is not the one that was woven, whose SHA-256 is %x", spec, descriptor.ExternalName(e.Class), e.Original.Digest)
	}
	return nil, fmt.Errorf("%s has no class file of %s", spec, descriptor.ExternalName(e.Class))
}

// isFileOf reports whether a class may have a path, in any folder.
func isFileOf(where, class string) bool {
	if strings.HasSuffix("/"+where, "/"+class+".class") {
		return true
	}
	// A class outside of the folder of its package.
	return !strings.Contains(where, "/") && where == path.Base(class)+".class"
}

// tracedFrame finds a method with an offset into its code:
//
//	com/acme/Order.pay(I)V @57
//	com.acme.Order.pay(I)V+57
//	com.acme.Order.pay(int) @bci=57
var tracedFrame = regexp.MustCompile(`([^\s()]+)\.([^\s().]+)(\([^)]*\))(\S*?)(\s*@\s*bci=|\s*@\s*|\+)(\d+)\b`)

func (c *cacheShowCommand) writeTrace(out io.Writer, e *cache.Entry) error {
	in := io.Reader(os.Stdin)
	if c.trace != "-" {
		file, err := os.Open(c.trace)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }() // only read
		in = file
	}
	lines := bufio.NewReader(in)
	mapped := 0
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			text, isMapped, mapErr := traceLine(strings.TrimRight(line, "\r\n"), e)
			if mapErr != nil {
				return mapErr
			}
			if isMapped {
				mapped++
			}
			_, _ = fmt.Fprintln(out, text)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.trace, err)
		}
	}
	if mapped == 0 {
		_, _ = fmt.Fprintf(c.err, "note: %s contains no stack frame with a bytecode offset in a woven method of %s\n", c.trace, descriptor.ExternalName(e.Class))
	}
	return nil
}

// traceLine gives a line with the offset that the original has.
func traceLine(line string, e *cache.Entry) (_ string, isMapped bool, err error) {
	at := tracedFrame.FindStringSubmatchIndex(line)
	if at == nil {
		return line, false, nil
	}
	part := func(n int) string { return line[at[2*n]:at[2*n+1]] }
	if descriptor.InternalName(part(1)) != e.Class {
		return line, false, nil
	}
	m := tracedMethod(e, part(2), part(3), part(4))
	if m == nil || !m.Woven {
		return line, false, nil
	}
	woven, tooLarge := strconv.ParseUint(part(6), 10, 16)
	if tooLarge != nil {
		return line, false, nil //nolint:nilerr // it is no offset of code, but some other number
	}
	now := int(woven)
	shifts, err := m.Offsets.Map()
	if err != nil {
		return line, false, err
	}
	old, isOriginal := shifts.Old(now)
	remark := fmt.Sprintf("[woven: %d]", now)
	if !isOriginal {
		remark = fmt.Sprintf("[woven: %d, inserted after this]", now)
		if len(shifts) == 0 || now < int(shifts[0].New) {
			remark = fmt.Sprintf("[woven: %d, inserted before this]", now)
		}
	}
	return line[:at[12]] + strconv.Itoa(old) + line[at[13]:] + "  " + remark, true, nil
}

// tracedMethod finds the method of a frame, which has its descriptor or the types of
// its parameters.
func tracedMethod(e *cache.Entry, name, parameters, result string) *cache.Method {
	if m := e.Method(name, parameters+result); m != nil {
		return m
	}
	wanted := strings.ReplaceAll(strings.Trim(parameters, "()"), " ", "")
	for i := range e.Methods {
		m := &e.Methods[i]
		parsed, err := descriptor.ParseMethod(m.Descriptor)
		if m.Name != name || err != nil {
			continue
		}
		var types []string
		for _, t := range parsed.Params() {
			types = append(types, t.Human())
		}
		if strings.Join(types, ",") == wanted {
			return m
		}
	}
	return nil
}
