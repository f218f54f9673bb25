package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// A cachePlace is what a command line says of the cache.
type cachePlace struct {
	dir   string
	trust []string
}

func newCache(s streams) *cobra.Command {
	place := &cachePlace{}
	command := &cobra.Command{
		Use:   "cache",
		Short: "Look at the classes that were woven, and make room",
		Long:  cacheLong,
		Example: `  sonde cache ls 'com.acme.**'
  sonde cache show com.acme.Order --code
  sonde cache stats
  sonde cache prune --to 64M`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("sonde cache has no command %q: it has ls, show, stats, verify and prune", args[0])
			}
			return cmd.Help()
		},
	}
	place.addFlags(command.PersistentFlags())
	command.AddCommand(newCacheList(s, place), newCacheShow(s, place), newCacheStats(s, place), newCacheVerify(s, place), newCachePrune(s, place))
	return command
}

// addFlags gives a command, or with its persistent flags those below it, too, the flags
// that say where.
func (p *cachePlace) addFlags(flags flagSet) {
	flags.StringVar(&p.dir, "cache", "", "`DIR` of the cache, in place of the user's own")
	flags.StringSliceVar(&p.trust, "cache-trust", nil, "`USER` whose woven classes are taken too; may be repeated")
}

// options are what the command line says.
func (p *cachePlace) options() (cache.Options, error) {
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

// errNothingCached says that this user has no cache yet.
var errNothingCached = errors.New("nothing is cached yet")

// open opens a cache that is there. What is the matter with one that is named is an
// error; that the user's own was not made yet is errNothingCached.
func (p *cachePlace) open() (*cache.Disk, error) {
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
		return 0, fmt.Errorf("%q is no size, such as 64M, 1G or 0", text)
	}
	return n << shift, nil
}

// bytesText is a size of something small, to the byte.
func bytesText(n int) string { return format.Count(n, "byte", "bytes") }

// diskText is a size on disk.
func diskText(n int64) string {
	if n == 0 {
		return "0"
	}
	return format.Size(n)
}

const cacheLong = `Sonde weaves a class once and keeps what came of it, with a description: for the same
class file, the same hooks and the same engine it is taken from the cache, in any
process. This shows what is kept.

The cache lies in the user's cache directory ($XDG_CACHE_HOME/sonde/woven, or
~/.cache/sonde/woven), for this user alone. It takes 256M at most: entries that were
not used for longest go. All of it can be removed at any time.

What is kept is code that goes into programs, so a directory or file that somebody
else could have written is refused. --cache-trust says whose are to be taken besides
one's own and root's; commands that weave have --cache-share, which lets others read.

All commands that put hooks into a JVM use it, and tell how many classes they wove and
how many they found. --cache DIR takes another directory, --no-cache none;
SONDE_CACHE=DIR and SONDE_CACHE=off say the same for all commands.`

const cacheShowLong = `Show a class as it was woven: which methods have hooks, which were left alone and why,
by which ids woven code names methods. It is named by its key, or the beginning of one
(sonde cache ls shows them), or by its class; of several entries of a class the one is
shown that was of use last.

--code      shows the woven code instead, each instruction with its offset
--original  shows what weaving has changed: from the class file, or that in the jar,
            directory or lib/modules, to the woven class. It must be the very file that
            was woven
--offsets   shows also which instructions now stand where
--trace     reads a stack trace or the like, from a file or - for the standard input,
            and writes it with the offsets that the original has, for frames of this
            class:
              com/acme/Order.pay(I)V @57          errors of the verifier
              j  com.acme.Order.pay(I)V+57        hs_err files
              com.acme.Order.pay(int) @bci=57     jhsdb jstack
            Line numbers are the original's in any case: weaving keeps them.

What --json writes is described in docs/formats/cache.md.`

const cacheVerifyLong = `Read every entry of the cache and check it: its checksum, that it is the entry of its
key, that nobody else could have written it. Entries are checked on every use as well,
and woven again where they are damaged; this tells how a disk is doing.

Exit code: 0 when all are whole, or the damaged ones were dropped; 1 on an error or
where some are damaged; 2 for a wrong command line.`

const cachePruneLong = `Remove entries, those first that were not used for longest, until the others take no
more than --to on disk; and what processes left unfinished that were killed. Without
--to only what is beyond the cache's bound goes.

It can be done while others use the cache.`

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
	var report document.CachePrune
	d, err := place.open()
	if err == nil {
		defer func() { _ = d.Close() }() // nothing is left to be written
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
	report := document.CacheVerify{Bad: []document.CacheDamage{}}
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
		err = document.Write(out, report)
	} else {
		err = nil
		writeCacheVerify(out, &report)
	}
	if err = errors.Join(err, out.Flush()); err == nil && left > 0 {
		err = fmt.Errorf("%s damaged: they are woven again when they are asked for; --drop removes them now", format.Count(left, "entry is", "entries are"))
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
		_, _ = fmt.Fprintf(out, "%s of a format of other versions of Sonde\n", format.Count(r.Other, "entry is", "entries are"))
	}
}
