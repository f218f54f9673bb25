// Context measures what watching methods only where and when it matters costs a call.
//
//	go run ./bench/context [-jdk N] [-rounds N] [-json]
//
// One method has a twin for each thing that is measured: without a hook, with one that
// is switched off, in a sequence that is not met, with a condition on two fields, and
// so on. All hooks go in at once; every round runs all twins in turn, in batches of
// about a millisecond, so that what else the machine does hits all alike and falls out
// of medians. The same condition is asked by reflection and by an interpreter, in the
// program's own source, for comparison. What hand-offs cost is beside a second JVM
// that Sonde never entered. Sonde's counts prove afterwards that each hook did what it
// was measured for.
//
// The exit code is 1 where a bar is missed, or nobody can tell, and 2 where something
// could not be measured.
package main

import (
	"context"
	"flag"

	"github.com/sonde-jvm/sonde/bench/machine"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

type options struct {
	rounds, batches int
	jdk             int
	json            bool
	sources         string
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 61, "rounds through all twins")
	flag.IntVar(&o.batches, "batches", 5, "batches for each of them in a round")
	flag.IntVar(&o.jdk, "jdk", 0, "only this major version")
	flag.BoolVar(&o.json, "json", false, "print JSON instead of tables")
	flag.StringVar(&o.sources, "sources", "bench/context/java", "folder with the Java program")
	flag.Parse()
	machine.Main("bench/context", func(ctx context.Context) (bool, error) {
		return machine.Compare(o.jdk, o.json, func(jdk jvmtest.JDK) (*report, error) { return measure(ctx, jdk, o) })
	})
}
