package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// cacheVariable says where woven classes are kept, where no flag does: a directory, or
// off.
const cacheVariable = "SONDE_CACHE"

const cacheOff = "off"

// liveCache is what commands that put hooks into a JVM are told of the cache.
type liveCache struct {
	cachePlace
	share string
	none  bool
}

func (l *liveCache) register(flags flagSet) {
	l.addFlags(flags)
	flags.StringVar(&l.share, "cache-share", "", "who else may read what is kept from now on: `group` or everyone")
	flags.BoolVar(&l.none, "no-cache", false, "weave every class again, and keep none")
}

// args are the flags that say the same to another Sonde.
func (l *liveCache) args() (args []string) {
	if l.none {
		args = append(args, "--no-cache")
	}
	if l.dir != "" {
		args = append(args, "--cache", l.dir)
	}
	if l.share != "" {
		args = append(args, "--cache-share", l.share)
	}
	for _, user := range l.trust {
		args = append(args, "--cache-trust", user)
	}
	return args
}

// openCache opens the cache; nil where none is wanted. What is the matter with it is
// told, and then it is done without. The function that ends its use is called when the
// hooks are out: what was woven last may still be on its way to the disk.
func (l *liveCache) openCache(tell func(string)) (*cache.Cache, func(), error) {
	if l.none && l.dir != "" {
		return nil, nil, usage("--cache and --no-cache cannot be had at once")
	}
	o, err := l.options()
	if err != nil {
		return nil, nil, err
	}
	if o.Sharing, err = cache.ParseSharing(l.share); err != nil {
		return nil, nil, usage("--cache-share: %w", err)
	}
	if l.none || l.dir == "" && os.Getenv(cacheVariable) == cacheOff {
		return nil, func() {}, nil
	}
	opened := cache.Open(o, func(err error) { tell(oneLine(err)) })
	return opened, func() {
		const patience = 5 * time.Second
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = opened.Close(ctx) // a cache may lose what it will
	}, nil
}

// wovenText tells how many classes were woven and how many were found so, where there
// is a cache.
func wovenText(woven, cached int, hasCache bool) string {
	if !hasCache {
		return ""
	}
	return fmt.Sprintf(" (%s woven, %s from the cache)", grouped(woven), grouped(cached))
}

func sessionWovenText(s *session.Session) string {
	w := s.Weavings()
	return wovenText(w.Woven, w.Cached, s.HasCache())
}

// wovenJSON is how many classes were woven, and how many were found so.
type wovenJSON struct {
	Woven  int `json:"classesWoven"`
	Cached int `json:"classesFromCache"`
}

func describeWoven(s *session.Session) wovenJSON {
	w := s.Weavings()
	return wovenJSON{w.Woven, w.Cached}
}
