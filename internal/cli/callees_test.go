package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/calltree"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

var updateCallees = flag.Bool("update-callees", false, "write the goldens of sonde callees again")

// deskWorld is a fixture and the few classes of the JDK it names, as if loaded.
func deskWorld(t *testing.T) *calltree.World {
	t.Helper()
	jdk := jvmtest.Need(t, 17)
	dir := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"../measure/calltree/testdata/shop/Desk.java"}})
	paths, err := filepath.Glob(filepath.Join(dir, "shop", "*.class"))
	if err != nil {
		t.Fatal(err)
	}
	var classes []universe.Loaded
	for _, path := range paths {
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if name := "shop/" + strings.TrimSuffix(filepath.Base(path), ".class"); name != "shop/Desk$Never" {
			classes = append(classes, universe.Loaded{Name: name, Loader: 2, File: file})
		}
	}
	image, err := jimage.Open(jdk.Image())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = image.Close() })
	for _, name := range []string{"java/lang/Object", "java/util/function/Supplier", "java/util/function/Function"} {
		file, err := image.Read("/java.base/" + name + ".class")
		if err != nil {
			t.Fatal(err)
		}
		c := universe.Loaded{Name: name, File: file}
		if name == "java/lang/Object" {
			c.Reason = "every constructor calls it"
		}
		classes = append(classes, c)
	}
	return calltree.NewWorld(universe.Of(nil, classes))
}

// deskLook looks at the fixture without a JVM. Some of it was called.
func deskLook(t *testing.T) func(context.Context, calltree.Options) (*calltree.Result, error) {
	world := deskWorld(t)
	return func(_ context.Context, o calltree.Options) (*calltree.Result, error) {
		roots, err := world.Find(o.Methods)
		if err != nil {
			return nil, err
		}
		r := &calltree.Result{
			PID: o.PID, JDK: "17.0.15", Main: "shop.Desk", Tree: world.Tree(roots, o.Limits), Loaders: world.Loaders(), Classes: 10,
			Fileless: 1, AsOf: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		}
		if o.Watch > 0 {
			r.WatchedFor, r.Watched, r.Unwatched = o.Watch, 3, 12
			r.Mark(map[classfile.MethodRef]calltree.Hooked{
				roots[0]: {Calls: 1234},
				{Class: "shop/Desk$Circle", Name: "area", Descriptor: "()D"}:             {},
				{Class: "shop/Desk", Name: "parse", Descriptor: "(Ljava/lang/String;)I"}: {Holder: "sonde count, process 7"},
			})
		}
		return r, nil
	}
}

func calleesHere(t *testing.T, change func(*calleesCommand)) string {
	t.Helper()
	var out, stderr strings.Builder
	c := &calleesCommand{streams: streams{out: &out, err: &stderr}, Options: calltree.Options{Limits: calltree.DefaultLimits(), Hooks: 200}, look: deskLook(t)}
	change(c)
	if err := c.check([]string{"4711", "shop.Desk.serve"}, func(string) bool { return false }); err != nil {
		t.Fatal(err)
	}
	if err := c.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestCalleesGoldens holds what is written, in both forms.
func TestCalleesGoldens(t *testing.T) {
	for name, change := range map[string]func(*calleesCommand){
		"plain.txt": func(*calleesCommand) {},
		"watched.txt": func(c *calleesCommand) {
			c.Watch, c.Limits.Levels, c.Limits.Overrides, c.Limits.Breadth = 10*time.Second, 1, 2, 8
		},
		"tree.json": func(c *calleesCommand) {
			c.json, c.Watch, c.Limits.Overrides, c.Limits.Nodes = true, 10*time.Second, 2, 12
		},
	} {
		got := calleesHere(t, change)
		if strings.HasSuffix(name, ".json") {
			var indented bytes.Buffer
			if err := json.Indent(&indented, []byte(got), "", " "); err != nil {
				t.Fatal(err)
			}
			got = indented.String()
		}
		path := filepath.Join("testdata", "callees", name)
		if *updateCallees {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || got != string(want) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

// TestCalleesFit shows that lines fit a terminal, as far as names can be cut.
func TestCalleesFit(t *testing.T) {
	columns := format.Columns("STATE", ">SIZE", "LOADER", "CALL", "METHOD")
	for _, width := range []int{60, 80, 120} {
		v := &calleesView{}
		c := &calleesCommand{Options: calltree.Options{Limits: calltree.DefaultLimits(), Hooks: 200}}
		if err := c.check([]string{"1", "shop.Desk.serve"}, func(string) bool { return false }); err != nil {
			t.Fatal(err)
		}
		r, err := deskLook(t)(context.Background(), c.Options)
		if err != nil {
			t.Fatal(err)
		}
		v.add(r.Roots[0], "", "")
		v.fit(columns, width)
		for _, line := range format.TableLines(columns, v.rows, 0) {
			if utf8.RuneCountInString(line) > width {
				t.Errorf("%d columns: %q", width, line)
			}
		}
	}
}
