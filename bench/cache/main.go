// Cache puts a class that the cache has beside the same class woven again, with all that
// a session does for it: the class is read, its methods are picked, its key is made, it
// is found and checked, or woven, and what became of it is noted.
//
//	go run ./bench/cache [--jar FILE] [--rounds N] [--classes N] [--json]
//
// The classes are those of a jar, each with a hook in one method and with hooks in all.
// One after the other is woven by a session without a cache and found by two with one: in
// the segment, and where there is none at first, as a process leaves it that is killed in its
// first second: entries are in files of their own then, until the session has gathered them,
// which it does after a second. In each round each class is had once by each, in an order
// that changes with the round; the files are in the memory of the system. Time is what the
// thread had of a processor. A class counts by its medians over the rounds.
//
// Where both cost nearly the same chance decides which median is higher, so a class counts
// against the bar where the hit was dearer in more of the rounds than chance would have it.
// The exit code is 1 where a hit in the segment is dearer than weaving for any class, and
// 2 where something could not be measured.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sonde-jvm/sonde/bench/machine"
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
		return r.allMet(), encoder.Encode(r)
	}
	r.print(os.Stdout)
	return r.allMet(), nil
}
