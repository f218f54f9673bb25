// Cache compares finding a class in the cache with weaving it again, including everything
// a session does for it: parsing the class, selecting its methods, computing its key,
// reading and checking the entry or weaving the class, and recording the result.
//
//	go run ./bench/cache [--jar FILE] [--rounds N] [--classes N] [--json]
//
// The classes are those of a jar, with a hook in one method and with hooks in all methods.
// In each round a session without a cache weaves each class and a session with a cache
// finds it, in an order that changes with the round. The files are in the page cache.
// Time is processor time of the thread; a class is represented by its medians over the
// rounds.
//
// The exit code is 2 where something could not be measured.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/bench/machine"
	"github.com/sonde-jvm/sonde/bench/spread"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/archive"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
)

type options struct {
	jar             string
	rounds, classes int
	json            bool
}

func main() {
	var o options
	flag.StringVar(&o.jar, "jar", "/usr/share/java/h2.jar", "jar whose classes are woven")
	flag.IntVar(&o.rounds, "rounds", 41, "how often each class is had in each way")
	flag.IntVar(&o.classes, "classes", 0, "only about so many of them, of all sizes; 0 for all")
	flag.BoolVar(&o.json, "json", false, "print JSON instead of tables")
	flag.Parse()
	machine.Main("bench/cache", func(ctx context.Context) (bool, error) { return run(ctx, o) })
}

func run(ctx context.Context, o options) (met bool, err error) {
	classes, err := load(ctx, o.jar, o.classes)
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "sonde-bench-cache")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	r := report{Jar: filepath.Base(o.jar), Classes: len(classes), Rounds: o.rounds}
	for _, scope := range []scope{oneMethod, allMethods} {
		found, err := measure(ctx, classes, scope, filepath.Join(dir, scope.String()), o.rounds)
		if err != nil {
			return false, fmt.Errorf("hooks in %s: %w", scope, err)
		}
		r.Hooks = append(r.Hooks, found)
	}
	r.Load = machine.Load()
	if o.json {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		return true, encoder.Encode(r)
	}
	r.print(os.Stdout)
	return true, nil
}

// A class is one with methods that can have hooks.
type class struct {
	name  string
	file  []byte
	hooks []session.Hook
}

// A scope is which methods of a class get hooks.
type scope int

const (
	oneMethod scope = iota
	allMethods
)

func (s scope) String() string { return [...]string{"one method", "all methods"}[s] }

func (c *class) hooksOf(s scope) []session.Hook {
	if s == oneMethod {
		return c.hooks[:1]
	}
	return c.hooks
}

// hooksIn are those of the methods that could be woven.
func hooksIn(class string, result *weave.Result) (hooks []session.Hook) {
	for _, r := range result.Methods {
		if r.Woven {
			hooks = append(hooks, session.Hook{MethodRef: classfile.MethodRef{Class: class, Name: strings.Clone(r.Name), Descriptor: strings.Clone(r.Descriptor)}})
		}
	}
	return hooks
}

// load reads the classes of a jar that can have hooks, the smallest first; about so many
// where not all are wanted.
func load(ctx context.Context, jar string, most int) (classes []class, err error) {
	live, err := weave.CompileTemplate(agent.LiveTemplate())
	if err != nil {
		return nil, err
	}
	weaver := weave.NewWeaver()
	names := make(map[string]bool)
	err = archive.Walk(ctx, jar, func(e archive.Entry) error {
		c := class{file: bytes.Clone(e.Data)}
		result, err := weaver.Weave(c.file, func(m weave.MethodInfo) []*weave.Template {
			c.name = strings.Clone(m.Class)
			return []*weave.Template{live}
		})
		if err == nil && !names[c.name] { // else it is no class, or that of another Java release
			c.hooks = hooksIn(c.name, result)
			names[c.name] = true
		}
		if len(c.hooks) > 0 {
			classes = append(classes, c)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(classes) == 0 {
		return nil, fmt.Errorf("%s has no class that could have a hook", jar)
	}
	slices.SortStableFunc(classes, func(a, b class) int { return len(a.file) - len(b.file) })
	if step := len(classes) / max(most, 1); most > 0 && step > 1 {
		some := classes[:0]
		for i := 0; i < len(classes); i += step {
			some = append(some, classes[i])
		}
		classes = some
	}
	return classes, nil
}

// The ways in which a session comes by a woven class.
const (
	woven = iota
	found
	ways
)

// times are what a class took, in nanoseconds: by way, round by round.
type times [ways][]float64

// measure has all classes in all ways, by turns.
func measure(ctx context.Context, classes []class, s scope, dir string, rounds int) (result hooked, err error) {
	stands, err := prepare(ctx, classes, s, dir)
	if err != nil {
		return result, err
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
					return result, err
				}
				if round > 0 { // the first round reads the files for the first time
					all[i][way] = append(all[i][way], nanos)
				}
			}
		}
	}
	for way, stand := range stands {
		if n := stand.Weavings(); way != woven && n.Woven > 0 {
			return result, fmt.Errorf("%d classes were woven that should have been found", n.Woven)
		}
	}
	result = judge(classes, s, all)
	result.Once, err = opening(ctx, filepath.Join(dir, fmt.Sprint(found)), rounds)
	return result, err
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

// stands are weavers, one for each way.
type stands [ways]*stand

type stand struct {
	*instrument.Weaver
	kept *cache.Cache // may be nil
}

// prepare fills a cache and makes both weavers.
func prepare(ctx context.Context, classes []class, s scope, dir string) (made stands, err error) {
	for way := range made {
		place := filepath.Join(dir, fmt.Sprint(way))
		if way != woven {
			if err := fill(ctx, classes, s, place); err != nil {
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
	if made.Weaver, err = instrument.NewWeaver(instrument.Settings{Cache: made.kept}); err != nil {
		return nil, err
	}
	for i := range classes {
		for _, h := range classes[i].hooksOf(s) {
			made.AddHook(h)
		}
	}
	return made, nil
}

// have returns how long a weaver takes for a class.
func (s *stands) have(ctx context.Context, way int, c *class) (nanos float64, err error) {
	began := threadTime()
	out, err := s[way].Weave(ctx, c.name, c.file)
	took := threadTime() - began
	if err == nil && len(out.Bytes) == 0 {
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
