package classtest_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/dump"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// tooFull are the bodies of the zoo that leave no room for a template.
var tooFull = map[string]bool{"LongestBody": true}

// TestZooWoven weaves the smallest probe around every method of the zoo. The
// reference parser must find the result sound, and the JVM must load it if it
// loads the original.
func TestZooWoven(t *testing.T) {
	var originals, woven []string
	folder := t.TempDir()
	eachClass(t, "../testdata/zoo", func(t *testing.T, data []byte) {
		_, file, _ := strings.Cut(t.Name(), "/")
		result, err := weave.NewWeaver().Weave(data, everyMethod(t))
		if err != nil {
			t.Fatalf("weave: %v", err)
		}
		for _, m := range result.Methods {
			if !m.Woven && !tooFull[strings.TrimSuffix(filepath.Base(file), ".class")] {
				t.Errorf("%s%s was left alone: %v", m.Name, m.Descriptor, m.Reason)
			}
		}
		if result.Bytes == nil {
			return
		}
		if _, err := classtest.Describe(result.Bytes); err != nil {
			t.Fatalf("the woven class is not sound: %v", err)
		}
		target := filepath.Join(folder, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(target, result.Bytes, 0o644); err != nil {
			t.Fatal(err)
		}
		originals = append(originals, filepath.Join("../testdata/zoo", file))
		woven = append(woven, target)
	})
	compareLoading(t, folder, originals, woven)
}

func compareLoading(t *testing.T, folder string, originals, woven []string) {
	t.Helper()
	jdk := jvmtest.Need(t, 25)
	runtimeJar := filepath.Join(folder, "runtime.jar")
	if err := os.WriteFile(runtimeJar, agent.RuntimeJar(), 0o644); err != nil {
		t.Fatal(err)
	}
	before, after := loadVerdicts(t, jdk, originals, runtimeJar), loadVerdicts(t, jdk, woven, runtimeJar)
	for i := range before {
		if before[i] == "ok" && after[i] != "ok" {
			t.Errorf("%s loads as it is, and woven gives %s", originals[i], after[i])
		}
	}
}

// TestInvalidIsBounded feeds what is broken to the rest of the library. Nothing
// may panic; the tests' own time limit bounds the rest.
func TestInvalidIsBounded(t *testing.T) {
	eachClass(t, "../testdata/invalid", func(t *testing.T, data []byte) {
		class, err := classfile.Parse(data)
		if err != nil {
			return
		}
		if err := dump.Class(io.Discard, class, dump.Options{}); err != nil {
			t.Errorf("dump to a writer that never fails: %v", err)
		}
		result, err := weave.NewWeaver().Weave(data, everyMethod(t))
		if err != nil || result.Bytes == nil {
			return
		}
		if _, err := classfile.Parse(result.Bytes); err != nil {
			t.Errorf("the woven class cannot be read: %v", err)
		}
	})
}

// everyMethod chooses the built-in probe for all methods.
func everyMethod(t *testing.T) func(weave.MethodInfo) []*weave.Template {
	t.Helper()
	class, method, ok := agent.Template("probe")
	if !ok {
		t.Fatal("there is no built-in template probe")
	}
	template, err := weave.CompileTemplate(class, method)
	if err != nil {
		t.Fatal(err)
	}
	templates := []*weave.Template{template}
	return func(weave.MethodInfo) []*weave.Template { return templates }
}
