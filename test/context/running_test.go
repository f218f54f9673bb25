package context

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/spec/spectest"
)

// running is a program under observation.
type running struct {
	*jvmtest.Running
	t     *testing.T
	watch *liveprobes.Probes
	dir   string          // of its source and logs
	known map[string]bool // its methods
}

// start compiles and starts a program, and enters it. All goes with the test.
func start(t *testing.T, jdk jvmtest.JDK, p *program) *running {
	t.Helper()
	r := &running{t: t, dir: t.TempDir(), known: make(map[string]bool)}
	for _, m := range p.methods {
		r.known[m.String()] = true
	}
	sources, err := filepath.Glob(filepath.Join("testdata", "support", "*.java"))
	if err != nil || len(sources) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(p.source)) {
		path := filepath.Join(r.dir, name)
		if err := os.WriteFile(path, []byte(p.source[name]), 0o644); err != nil {
			t.Fatal(err)
		}
		sources = append(sources, path)
	}
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: sources, Flags: []string{"--release", "17"}})
	r.Running = jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{"-Xmx600m", "-cp", classes, "app.Start"}})
	notice := func(text string) { t.Logf("notice: %s", text) }
	s, err := session.Open(t.Context(), r.PID, session.Settings{Command: "sonde test", Notice: notice})
	if err != nil {
		t.Fatalf("%v\nstderr: %s", err, r.Stderr())
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	r.watch = liveprobes.New(s, liveprobes.Options{Notice: notice})
	go func() { ended <- r.watch.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		r.watch.Close()
		_, _ = s.Close(context.Background())
		_ = s.Release()
	})
	return r
}

// apply has Sonde do what a wish asks for.
func (r *running) apply(w *wish) {
	r.t.Helper()
	set := w.set()
	report, err := r.watch.Apply(r.t.Context(), set)
	if err != nil {
		r.t.Fatalf("%v\n%s\nstderr: %s", err, set.YAML(), r.Stderr())
	}
	for _, applied := range slices.Concat(report.Probes, report.Tags) {
		for _, out := range applied.LeftOut {
			r.t.Errorf("%s: %s was left out: %v", applied.Name, out.Method, out.Err)
		}
	}
}

// work lets the program work, and reads what it did.
func (r *running) work(seed uint64, calls int) []*thread {
	r.t.Helper()
	file := filepath.Join(r.dir, "log")
	if _, err := fmt.Fprintf(r.Stdin, "work %d %d %d %s\n", seed, rootThreads, calls, file); err != nil {
		r.t.Fatal(err)
	}
	r.Await(r.t, "worked")
	data, err := os.ReadFile(file)
	if err != nil {
		r.t.Fatal(err)
	}
	threads, err := readLog(data)
	if err != nil {
		r.t.Fatal(err)
	}
	return threads
}

// lambdaNumber is what a compiler puts behind the name of a lambda.
var lambdaNumber = regexp.MustCompile(`^(lambda\$.*\$)\d+$`)

// methodText is a method as the reference has it.
func methodText(class, name string) string {
	return strings.ReplaceAll(class, "/", ".") + "." + lambdaNumber.ReplaceAllString(name, "$1*")
}

// counts are what Sonde has counted so far.
func (r *running) counts() map[row]uint64 {
	r.t.Helper()
	results, err := r.watch.Results()
	if err != nil {
		r.t.Fatalf("%v\nstderr: %s", err, r.Stderr())
	}
	if results.Dropped+results.Ambiguous+results.ContextsLost > 0 {
		r.t.Errorf("%d calls were dropped, %d tasks ambiguous, %d contexts lost", results.Dropped, results.Ambiguous, results.ContextsLost)
	}
	counts := make(map[row]uint64)
	for _, one := range results.Rows {
		key := row{
			probe: one.Probe, sequence: one.Sequence, label: r.labelText(one.Label), method: methodText(one.Class, one.Name),
		}
		counts[key] += one.Calls
		if one.Undecided > 0 {
			r.t.Errorf("%v: %d conditions were not decided", key, one.Undecided)
		}
	}
	return counts
}

// labelText is a label as the reference has it.
func (r *running) labelText(l liveprobes.Label) string {
	if l.Other || l.Unknown {
		return l.String()
	}
	var lines []string
	for _, caller := range l.Callers {
		name, _, _ := strings.Cut(caller, "(")
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 || !r.known[methodText(name[:dot], name[dot+1:])] {
			break
		}
		lines = append(lines, methodText(name[:dot], name[dot+1:]))
	}
	for _, tag := range l.Tags {
		switch {
		case tag.Set && !tag.Null:
			lines = append(lines, tag.Name+"="+tag.Value)
		case tag.Set:
			lines = append(lines, tag.Name)
		}
	}
	return strings.Join(lines, "\n")
}

// set is the wish as users would write it.
func (w *wish) set() *probeset.Set {
	set := &probeset.Set{HandOff: true}
	for _, tag := range w.tags {
		if tag.name != callTag {
			set.Tags = append(set.Tags, probeset.Tag{Name: tag.name, Value: spectest.Expr(tag.value.path), At: spectest.Pattern(tag.at.String())})
		}
	}
	var numbered []string
	for _, probe := range w.probes {
		p := probeset.Probe{Name: probe.name, Level: probeset.Count, Context: probe.context}
		var methods []string
		for _, pattern := range probe.methods {
			if !slices.Contains(methods, pattern.String()) {
				methods = append(methods, pattern.String())
			}
		}
		p.Methods = spectest.Patterns(methods...)
		numbered = append(numbered, methods...)
		for _, sequence := range probe.within {
			p.Within = append(p.Within, spectest.Sequences(sequenceText(sequence))...)
		}
		if probe.when != nil {
			p.When = spectest.Expr(probe.when.String())
		}
		for _, tag := range probe.groups {
			p.GroupBy = append(p.GroupBy, w.tags[tag].name)
		}
		set.Probes = append(set.Probes, p)
	}
	if last := w.tags[len(w.tags)-1]; last.name == callTag {
		slices.Sort(numbered)
		for _, pattern := range slices.Compact(numbered) {
			set.Tags = append(set.Tags, probeset.Tag{Name: callTag, Value: spectest.Expr(last.value.path), At: spectest.Pattern(pattern)})
		}
	}
	return set
}

// describe is a probe as users would write it.
func (w *wish) describe(probe string) string {
	set := w.set()
	set.Probes = slices.DeleteFunc(set.Probes, func(p probeset.Probe) bool { return p.Name != probe })
	// The number of a call is set wherever it is asked for.
	set.Tags = slices.DeleteFunc(set.Tags, func(t probeset.Tag) bool { return t.Name == callTag })
	return string(set.YAML())
}

// kept copies the program's source and log to where they outlive the test.
func (r *running) kept(where string) string {
	dir, err := os.MkdirTemp("", "sonde-context-")
	if err != nil {
		return err.Error()
	}
	if err := os.CopyFS(filepath.Join(dir, strings.ReplaceAll(where, " ", "-")), os.DirFS(r.dir)); err != nil {
		return err.Error()
	}
	return dir
}
