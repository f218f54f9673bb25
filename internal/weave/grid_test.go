package weave_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// gridTemplates are the methods of Grid.java.
var gridTemplates = []string{
	"loopBefore", "newInCatch", "thrownOnly", "deny", "split", "ifAround", "newBefore", "nested",
	"resultLoop", "locked", "switches", "selfFinally", "selfBehind", "across", "nullAcross",
}

// TestGrid weaves each template of Grid.java, alone and around each other, around
// every handmade class and one of javac's, and has one JVM run them all: each must
// load under -Xverify:all and do what it did unwoven.
func TestGrid(t *testing.T) {
	jdk := anyJDK(t)
	j := compileGrid(t, jdk)
	target := readFile(t, filepath.Join(j.dir, "GridTarget.class"))
	root := t.TempDir()
	weaver := weave.NewWeaver()
	build := func(folder string, templates []*weave.Template) string {
		put := func(name string, data []byte) {
			result, err := weaver.Weave(data, func(weave.MethodInfo) []*weave.Template { return templates })
			if err != nil {
				t.Fatalf("%s %s: %v", folder, name, err)
			}
			if result.Bytes != nil {
				data = result.Bytes
			}
			writeFile(t, filepath.Join(root, folder, name+".class"), data)
		}
		put("GridTarget", target)
		for _, h := range handmades {
			for _, major := range h.majors {
				if int(major) <= 44+jdk.Major {
					b := classtest.NewBuilder(major, h.name)
					h.build(b, h.name)
					put(fmt.Sprintf("%s_%d", h.name, major), b.Bytes())
				}
			}
		}
		return filepath.Join(root, folder)
	}
	args := []string{"-Xverify:all", "-Xint", "-cp", j.dir, "RunAll", build("plain", nil)}
	for _, outer := range gridTemplates {
		args = append(args, build(outer, []*weave.Template{j.template(t, outer)}))
		for _, inner := range gridTemplates {
			args = append(args, build(outer+"+"+inner, []*weave.Template{j.template(t, outer), j.template(t, inner)}))
		}
	}
	compareGrid(t, jvmtest.Run(t, jdk, args...))
}

func compareGrid(t *testing.T, outcome jvmtest.Outcome) {
	t.Helper()
	plain := make(map[string]string)
	ran := 0
	for line := range strings.Lines(outcome.Stdout) {
		where, what, _ := strings.Cut(strings.TrimSpace(line), ":")
		folder, file, _ := strings.Cut(where, "/")
		if folder == "plain" {
			plain[file] = what
			continue
		}
		if ran++; plain[file] != what {
			t.Errorf("%s\n    woven:   %s\n    unwoven: %s", where, what, plain[file])
		}
	}
	if want := len(plain) * len(gridTemplates) * (1 + len(gridTemplates)); ran != want || ran == 0 {
		t.Errorf("%d classes ran, want %d\n%s", ran, want, outcome.Stderr)
	}
}

// compileGrid compiles the templates of Grid.java and what they need.
func compileGrid(t *testing.T, jdk jvmtest.JDK) java {
	t.Helper()
	jar := filepath.Join(t.TempDir(), "sonde-runtime.jar")
	if err := os.WriteFile(jar, agent.RuntimeJar(), 0o644); err != nil {
		t.Fatal(err)
	}
	var sources []string
	for _, name := range []string{"Grid", "GridHooks", "GridTarget", "RunAll", "Log"} {
		sources = append(sources, "testdata/java/"+name+".java")
	}
	dir := jvmtest.Compile(t, jdk, jvmtest.Fixture{
		Sources: sources, Classpath: []string{jar}, Flags: []string{"--release", "8", "-Xlint:none"},
	})
	return java{jdk, dir, filepath.Join(dir, "Grid.class")}
}
