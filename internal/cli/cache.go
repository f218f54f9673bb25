package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

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
func bytesText(n int) string { return count(n, "byte", "bytes") }

// diskText is a size on disk.
func diskText(n int64) string {
	if n == 0 {
		return "0"
	}
	return sizeText(n)
}
