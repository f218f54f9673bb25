package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/bench/spread"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// The ways in which a session comes by a woven class.
const (
	woven = iota
	inSegment
	inFile
	ways
)

// times are what a class took, in nanoseconds: by way, round by round.
type times [ways][]float64

// measure has all classes in all ways, by turns.
func measure(ctx context.Context, classes []class, s scope, dir string, rounds int) (found hooked, err error) {
	stands, err := prepare(ctx, classes, s, dir)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, stands.close(ctx)) }()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	all := make([]times, len(classes))
	for round := range rounds + 1 {
		for i := range classes {
			for turn := range ways {
				way := (turn + round) % ways
				nanos, err := stands.have(ctx, way, &classes[i])
				if err != nil {
					return found, err
				}
				if round > 0 { // in the first one files and rows are read for the first time
					all[i][way] = append(all[i][way], nanos)
				}
			}
		}
	}
	for way, stand := range stands {
		if n := stand.Weavings(); way != woven && n.Woven > 0 {
			return found, fmt.Errorf("%d classes were woven that should have been found", n.Woven)
		}
	}
	found = judge(classes, s, all)
	found.Once, err = opening(ctx, filepath.Join(dir, fmt.Sprint(inSegment)), rounds)
	return found, err
}

// opening is what a session with a cache takes besides, once: to open and to close it, in
// nanoseconds.
func opening(ctx context.Context, dir string, rounds int) (spread.Spread, error) {
	var took []float64
	for range rounds {
		began := time.Now()
		if err := openCache(dir).Close(ctx); err != nil {
			return spread.Spread{}, err
		}
		took = append(took, float64(time.Since(began).Nanoseconds()))
	}
	return micros(took), nil
}

// openCache opens a cache with room for all.
func openCache(dir string) *cache.Cache {
	return cache.Open(cache.Options{Dir: dir, Bound: 4 << 30}, nil)
}

// stands are sessions, one for each way.
type stands [ways]*stand

type stand struct {
	*session.Stand
	kept *cache.Cache // may be nil
}

// prepare fills a cache that has a segment, and one that has none.
func prepare(ctx context.Context, classes []class, s scope, dir string) (made stands, err error) {
	for way := range made {
		place := filepath.Join(dir, fmt.Sprint(way))
		if way != woven {
			if err := fill(ctx, classes, s, place); err != nil {
				return made, err
			}
		}
		if way == inFile {
			if err := os.Remove(filepath.Join(place, "segment")); err != nil {
				return made, err
			}
		}
		if made[way], err = newStand(classes, s, place, way != woven); err != nil {
			return made, err
		}
	}
	return made, nil
}

func fill(ctx context.Context, classes []class, s scope, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	filling, err := newStand(classes, s, dir, true)
	if err != nil {
		return err
	}
	for i := range classes {
		if _, err := filling.Weave(ctx, classes[i].name, classes[i].file); err != nil {
			return err
		}
	}
	return filling.kept.Close(ctx)
}

func newStand(classes []class, s scope, dir string, hasCache bool) (*stand, error) {
	made := &stand{}
	if hasCache {
		made.kept = openCache(dir)
	}
	var err error
	if made.Stand, err = session.NewStand(made.kept); err != nil {
		return nil, err
	}
	for i := range classes {
		made.Ask(classes[i].hooksOf(s)...)
	}
	return made, nil
}

// have is how long a session takes for a class.
func (s *stands) have(ctx context.Context, way int, c *class) (nanos float64, err error) {
	began := threadTime()
	file, err := s[way].Weave(ctx, c.name, c.file)
	took := threadTime() - began
	if err == nil && len(file) == 0 {
		err = errors.New("nothing of it is woven")
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", c.name, err)
	}
	return float64(took), nil
}

// threadTime is what this thread has had of a processor: what others on the machine take
// is not in it, but for what they leave in the processor's caches.
func threadTime() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		panic(err) // every system has it
	}
	return now.Nano()
}

func (s *stands) close(ctx context.Context) (err error) {
	for _, one := range s {
		if one.kept != nil {
			err = errors.Join(err, one.kept.Close(ctx))
		}
	}
	return err
}
