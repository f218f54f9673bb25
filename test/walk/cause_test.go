package walk_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/climb"
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
)

const (
	h2Jar = "/usr/share/java/h2.jar"
	// loadSeconds bounds customers whom nobody sends home.
	loadSeconds = "300"
)

// TestTheCauseIsOfTheProgram walks programs of others, in which time is spent in
// collections, strings and streams: their ways lead to methods of the program that
// uses them.
func TestTheCauseIsOfTheProgram(t *testing.T) {
	if _, err := os.Stat(h2Jar); err != nil {
		t.Skipf("NOT TESTED: %s is missing: run .ci/setup h2", h2Jar)
	}
	together(t, []string{"h2", "shop"}, func(t *testing.T, jdk jvmtest.JDK, number int) {
		p := &program{t: t, jdk: jdk}
		own := []string{"H2Work.", "RealProgram."}
		if number == 0 {
			p.Running = startH2(t, jdk)
		} else {
			p.Running, own = startShop(t, jdk), []string{"shop/"}
		}
		o := options(brief)
		o.Levels = 64
		c := p.walk(t.Context(), o)
		p.keepsRules(c)
		p.causedBy(c, own)
		p.tell(c)
	})
}

// most is the part of a hot spot's time that must be seen to come from the program:
// deep stacks are cut off, and databases have threads of their own.
const most = 0.8

// causedBy demands that the hot spots' ways lead to methods of the program, whose names
// begin so: all together, and each that more than a few samples showed. On the way to
// those that are hot some of what is not the JDK's was measured. The JDK has threads of its
// own, as the one that waits for its HTTP server's sockets: what they take has no such way.
func (p *program) causedBy(c *climb.Climb, own []string) {
	p.t.Helper()
	isOwn := func(name string) bool {
		return slices.ContainsFunc(own, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	}
	anyMeasured := false
	var whole, ofProgram float64
	for _, spot := range c.Spots {
		name := nameOf(c.Methods[spot.Method])
		var caused, ofJDK float64
		measured := spot.Own != nil
		var visit func(callers []*climb.Caller, isJDK bool)
		visit = func(callers []*climb.Caller, isJDK bool) {
			for _, one := range callers {
				caller := nameOf(c.Methods[one.Method])
				measured = measured || one.Own != nil && !isLibrary(caller)
				if isOwn(caller) {
					caused += one.Share.Part
					continue
				}
				isStillJDK := isJDK && isLibrary(caller)
				if isStillJDK && one.Top && strings.HasPrefix(caller, "java/lang/Thread.run") {
					ofJDK += one.Share.Part
				}
				visit(one.Above, isStillJDK)
			}
		}
		visit(spot.Callers, isLibrary(name))
		anyMeasured = anyMeasured || measured
		if isOwn(name) {
			caused, measured = 1, true // the program's own method is the cause
		}
		whole += spot.Share.Part
		ofProgram += spot.Share.Part * caused
		others := 1 - ofJDK
		isHot := spot.Share.Part*others >= rootcause.Defaults().Hot
		isShown := spot.Share.Part*others*p.samples >= expected
		if isShown && caused < most*others || isHot && !measured {
			p.t.Errorf("%s, with %.1f %%: %.1f %% of it are seen to come from %v, measured on the way: %v", name, 100*spot.Share.Part, 100*caused, own, measured)
		}
	}
	if ofProgram < most*whole {
		p.t.Errorf("%.1f %% of what %d hot spots take is seen to come from %v", 100*ofProgram/whole, len(c.Spots), own)
	}
	if !anyMeasured {
		p.t.Errorf("nothing was measured on the ways from %d hot spots", len(c.Spots))
	}
}

func startH2(t *testing.T, jdk jvmtest.JDK) *jvmtest.Running {
	t.Helper()
	const folder = "../realprograms/testdata/"
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{
		Sources: []string{folder + "RealProgram.java", folder + "H2Work.java"}, Classpath: []string{h2Jar}, Flags: []string{"--release", "17"},
	})
	running := jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{"-Xmx512m", "-cp", classes + string(os.PathListSeparator) + h2Jar, "RealProgram", "H2Work"}})
	for _, order := range []struct{ says, awaits string }{{"load 2\n", "loading"}, {"rounds 40\n", "passed"}} {
		if _, err := running.Stdin.Write([]byte(order.says)); err != nil {
			t.Fatal(err)
		}
		running.Await(t, order.awaits)
	}
	return running
}

// startShop starts the demo's shop, and lets the customers in.
func startShop(t *testing.T, jdk jvmtest.JDK) *jvmtest.Running {
	t.Helper()
	var sources []string
	err := filepath.WalkDir("../../demo/shop/src", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".java" {
			sources = append(sources, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: sources, Classpath: []string{h2Jar}, Flags: []string{"--release", "17"}})
	classpath := classes + string(os.PathListSeparator) + h2Jar
	running := jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{"-cp", classpath, "shop.Main"}})
	_, said, _ := strings.Cut(running.Stdout(), "listening ")
	url, _, ok := strings.Cut(said, "\n")
	if !ok {
		t.Fatalf("the shop is ready and did not say where: %q", running.Stdout())
	}
	load := exec.Command(jdk.Tool("java"), "-cp", classpath, "load.Main", url, loadSeconds)
	stdin, err := load.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := load.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close() // which ends it
		_ = load.Wait()   // how it ends does not matter
	})
	return running
}
