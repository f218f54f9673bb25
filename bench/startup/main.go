// Startup measures what instrumentation adds to the start of real applications: Tomcat
// with a web application that asks H2, and JRuby with a script.
//
//	go run ./bench/startup [-jdk N] [-programs tomcat,jruby] [-rounds N] [-least BYTES] [-together] [-json FILE]
//
// Each application is started plain; with agents that do nothing, which is the least that
// any agent costs; with Sonde's agent and a pack of 2,000 methods; and with an agent that
// weaves the same methods by ASM as their classes load; if -ways asks for it, by Byte Buddy,
// too. All of them take turns, round by round, or start at once (-together). A start ends
// when the application has answered: by the clock, and by the processor time of its process
// until then. The classes are a sample of those that the application's start loads, so that
// all of them are woven in every start; what was woven is counted by all agents that weave,
// and must agree. Of each class all methods are, or, with -least, those that are not short:
// who wants times leaves getters out.
//
// The exit code is 1 where a bar is missed and 2 where something could not be measured.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/bench/machine"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

type options struct {
	jdk, rounds    int
	methods, least int
	programs       string
	json           string
	sources        string
	jars           string
	ways           string
	sonde          string
	together       bool
}

func main() {
	var o options
	flag.IntVar(&o.jdk, "jdk", 0, "only this major version")
	flag.IntVar(&o.rounds, "rounds", 10, "how often each is started")
	flag.IntVar(&o.methods, "methods", 2000, "how many methods are woven")
	flag.IntVar(&o.least, "least", 0, "weave methods of at least so many bytes of code, and those of the same name; sonde observe leaves out what has less than 36")
	flag.StringVar(&o.programs, "programs", "tomcat,jruby", "applications to start")
	flag.StringVar(&o.json, "json", "", "file to write the figures to as well")
	flag.StringVar(&o.sources, "sources", "bench/startup/java", "folder with the Java sources")
	flag.StringVar(&o.jars, "jars", "/usr/share/java", "folder with the jars of Tomcat, H2 and ASM")
	flag.StringVar(&o.ways, "ways", strings.Join(usualWays, ","), "ways to start; plain is always one, and buddy, an agent that weaves by Byte Buddy, can be another")
	flag.StringVar(&o.sonde, "sonde", "", "the command that makes packs (default: it is built)")
	flag.BoolVar(&o.together, "together", false, "start all ways of a round at once: what disturbs one disturbs all, so processor times are steadier, and the clock tells less")
	flag.Parse()
	machine.Main("bench/startup", func(ctx context.Context) (bool, error) { return run(ctx, o) })
}

func run(ctx context.Context, o options) (met bool, err error) {
	jdks, err := machine.JDKs(o.jdk)
	if err != nil {
		return false, err
	}
	// What is built stays, to be looked at; what starts write does not.
	built, err := filepath.Abs(filepath.Join("build", "bench-startup"))
	if err != nil {
		return false, err
	}
	if o.sonde == "" && slices.Contains(strings.Split(o.ways, ","), packed) {
		if o.sonde, err = buildSonde(ctx, built); err != nil {
			return false, err
		}
	}
	load := machine.Load()
	met = true
	var all []*report
	for _, jdk := range jdks {
		for _, p := range programs {
			if !slices.Contains(strings.Split(o.programs, ","), p.name) {
				continue
			}
			r, err := compare(ctx, jdk, p, filepath.Join(built, jdk.Version, p.name), o)
			if err != nil {
				return false, fmt.Errorf("JDK %s, %s: %w", jdk.Version, p.name, err)
			}
			r.print(os.Stdout)
			met = met && r.allMet()
			all = append(all, r)
		}
	}
	printLegend(os.Stdout, load, o.together)
	if o.json != "" {
		err = writeJSON(o.json, all, load)
	}
	return met, err
}

// compare measures one application on one JDK.
func compare(ctx context.Context, jdk jvmtest.JDK, p program, folder string, o options) (*report, error) {
	if err := os.RemoveAll(folder); err != nil {
		return nil, err
	}
	a, err := p.prepare(ctx, jdk, filepath.Join(folder, "application"), o)
	if err != nil {
		return nil, err
	}
	a.program = p
	c, err := choose(ctx, a, filepath.Join(folder, "looks"), o.methods, o.least)
	if err != nil {
		return nil, err
	}
	ways, err := waysToStart(ctx, a, c, filepath.Join(folder, "agents"), o)
	if err != nil {
		return nil, err
	}
	if err := alternate(ctx, a, ways, filepath.Join(folder, "starts"), o); err != nil {
		return nil, err
	}
	return newReport(a, c, ways)
}
