// See measures the samples that the kernel takes: whether they agree with those of
// async-profiler, and what they cost the sampled program.
//
//	go run ./bench/see [-jdk N] [-parts agreement,trees,cost,gaps] [-programs H2,javac,Tomcat,JRuby] [-all]
//
// Agreement: Sonde and async-profiler sample the same process at the same time. Of the
// twenty hottest methods, by self and by total time, both shares are compared.
//
// Trees: async-profiler samples H2 and javac while sonde profile measures them, and their
// shares of the time below the root are compared.
//
// Cost: H2 and an untouched twin run at the same time. H2 is sampled and left alone by
// turns, at several rates. Its speed while it is sampled, relative to the twin, is
// compared with that just before and just after. Last, the flight recorder of JDKs that
// discard compiled code when it starts is started once.
//
// Gaps: what the same rates cost a thread that only reads the clock, and so sees each
// interrupt.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

var (
	parts     = flag.String("parts", "agreement,trees,cost,gaps", "what to measure")
	programs  = flag.String("programs", "H2,javac,Tomcat,JRuby", "programs in which samples are compared")
	further   = flag.String("async", "", "further options of async-profiler, such as ,features=agct")
	listAll   = flag.Bool("all", false, "list the hottest methods of all programs, not only of the first on the newest JDK")
	warm      = flag.Duration("warm", 8*time.Second, "how long a program runs before samples are compared")
	length    = flag.Duration("length", 8*time.Second, "how long both profilers sample a program")
	warmTwins = flag.Duration("warm-twins", 25*time.Second, "processor time of H2 and its twin before their speeds are compared")
	window    = flag.Duration("window", 2*time.Second, "processor time in which H2 is sampled, and then left alone")
	turns     = flag.Int("turns", 10, "how often H2 is sampled at each rate; twice as often at that which is judged")
	gapTurns  = flag.Int("gap-turns", 15, "how often the thread that reads the clock is sampled at each rate")
	recorded  = flag.Duration("recorded", 40*time.Second, "processor time of H2 after the flight recorder was started")
)

func isWanted(list, name string) bool { return slices.Contains(strings.Split(list, ","), name) }

func main() {
	harness.Main("see", func(ctx context.Context, r *harness.Report) error {
		var agreements agreements
		var trees trees
		var costs costs
		var interruptions interruptions
		var failures []error
		folder, err := os.MkdirTemp("", "sonde-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		sonde, err := harness.BuildSonde(ctx, folder)
		if err != nil {
			return err
		}
		err = harness.EachJDK(func(jdk jvmtest.JDK) error {
			classes, err := compile(jdk)
			if err != nil {
				return err
			}
			defer os.RemoveAll(classes)
			if isWanted(*parts, "cost") {
				failures = append(failures, costs.measure(ctx, jdk, classes))
			}
			if isWanted(*parts, "gaps") {
				failures = append(failures, interruptions.measure(ctx, jdk, classes))
			}
			if isWanted(*parts, "agreement") {
				failures = append(failures, agreements.measure(ctx, jdk, classes))
			}
			if isWanted(*parts, "trees") {
				failures = append(failures, trees.measure(ctx, jdk, classes, sonde))
			}
			return ctx.Err()
		})
		if isWanted(*parts, "agreement") {
			agreements.report(r)
		}
		if isWanted(*parts, "trees") {
			trees.report(r)
		}
		if isWanted(*parts, "cost") || isWanted(*parts, "gaps") {
			r.Note("## Cost")
		}
		if isWanted(*parts, "gaps") {
			interruptions.report(r)
		}
		if isWanted(*parts, "cost") {
			costs.report(r)
		}
		return errors.Join(append(failures, err)...)
	})
}

// A subject is a program to be sampled, whose work is a class of the real programs.
type subject struct {
	name, work string
	jars       []string // of jarFolder, without their extension; or whole paths
	options    []string // of java
}

const jarFolder = "/usr/share/java/"

var subjects = []subject{
	{name: "H2", work: "H2Work", jars: []string{"h2"}},
	{name: "javac", work: "JavacTree", options: []string{"-Dtree=test/programs/src17", "-Dcopies=10"}},
	{name: "Tomcat", work: "TomcatWork", jars: []string{
		"tomcat10-catalina", "tomcat10-coyote", "tomcat10-util", "tomcat10-util-scan", "tomcat10-juli", "tomcat10-api", "tomcat10-jni",
		"tomcat10-servlet-api", "tomcat10-jsp-api", "tomcat10-el-api", "tomcat10-annotations-api", "tomcat10-jaspic-api",
		"tomcat10-jasper", "tomcat10-jasper-el", "eclipse-jdt-core",
	}},
	{name: "JRuby", work: "JRubyWork", jars: []string{"/usr/share/jruby/lib/jruby.jar"}, options: []string{
		"--add-opens=java.base/sun.nio.ch=ALL-UNNAMED", "--add-opens=java.base/java.io=ALL-UNNAMED",
	}},
}

func (s subject) classpath(classes string) string {
	path := classes
	for _, jar := range s.jars {
		if !strings.HasPrefix(jar, "/") {
			jar = jarFolder + jar + ".jar"
		}
		path += ":" + jar
	}
	return path
}

// compile compiles the works and what drives them.
func compile(jdk jvmtest.JDK) (folder string, err error) {
	source := harness.Source{Files: []string{"test/realprograms/testdata/RealProgram.java", "bench/walk/java/Paced.java", "bench/profile/java/JavacTree.java", "bench/see/java/Gaps.java"}}
	for _, s := range subjects {
		source.Classpath += s.classpath("") + ":"
		if s.work != "JavacTree" {
			source.Files = append(source.Files, "test/realprograms/testdata/"+s.work+".java")
		}
	}
	return harness.Compile(jdk, source)
}

// start starts the program, which counts operations.
func (s subject) start(jdk jvmtest.JDK, classes string, options []string, operations ...string) (*harness.Program, error) {
	arguments := slices.Concat([]string{"-Xms512m", "-Xmx512m", "-XX:+UseSerialGC"}, options, s.options, []string{"-cp", s.classpath(classes), "Paced", s.work})
	return harness.Start(jdk, append(arguments, operations...)...)
}

func progress(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "%s %s\n", time.Now().Format("15:04:05"), fmt.Sprintf(format, arguments...))
}
