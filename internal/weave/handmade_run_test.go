package weave_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// weavings of the handmade classes; the plain one is what the others are held against.
var weavings = []struct {
	name      string
	templates []string
}{
	{"plain", nil},
	{"probe", []string{"probe"}},
	{"rich", []string{"rich"}},
	{"nested", []string{"rich", "probe"}},
	{"nestedOtherwise", []string{"probe", "rich"}},
	{"thrice", []string{"rich", "rich", "rich"}},
	{"behind", []string{"probe behind super"}},
	{"nestedBehind", []string{"rich", "probe behind super", "probe"}},
}

// TestHandmade weaves classes no compiler writes, has the JVM verify and run them,
// and demands what they do unwoven.
func TestHandmade(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			j := compileJava(t, jdk, "8")
			root := t.TempDir()
			for _, weaving := range weavings {
				pick := j.pick(t, weaving.templates...)
				for _, h := range handmades {
					for _, major := range h.majors {
						if int(major) > jdk.Major+44 {
							continue
						}
						name := fmt.Sprintf("%s_%d", h.name, major)
						file := filepath.Join(root, weaving.name, name+".class")
						h.write(t, file, major, weaving.name, pick)
					}
				}
			}
			compareRuns(t, j, root)
		})
	}
}

// write builds and weaves a class.
func (h handmade) write(t *testing.T, file string, major uint16, weaving string, pick func(weave.MethodInfo) []*weave.Template) {
	t.Helper()
	b := classtest.NewBuilder(major, h.name)
	h.build(b, h.name)
	data := b.Bytes()
	where := fmt.Sprintf("%s/%s", weaving, strings.TrimSuffix(filepath.Base(file), ".class"))
	result, err := weaveCalmly(data, pick)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	for _, m := range result.Methods {
		want, expected := h.left[m.Name]
		if !expected {
			want, expected = h.left["*"]
		}
		var reason *weave.Reason
		errors.As(m.Reason, &reason)
		switch {
		case m.Woven && expected && want != weave.OddConstructor && want != weave.DoesNotFit:
			t.Errorf("%s: %s%s is woven, should be left alone because %s", where, m.Name, m.Descriptor, want)
		case !m.Woven && !expected:
			t.Errorf("%s: %s%s is left alone: %v", where, m.Name, m.Descriptor, m.Reason)
		case !m.Woven && reason.Kind != want:
			t.Errorf("%s: %s%s is left alone because %v; want %s", where, m.Name, m.Descriptor, m.Reason, want)
		}
	}
	if result.Bytes != nil {
		if _, err := classtest.Describe(result.Bytes); err != nil {
			t.Errorf("%s: the reference parser refuses the woven class: %v", where, err)
		}
		checkMap(t, data, result)
		data = result.Bytes
	}
	writeFile(t, file, data)
}

// weaveCalmly weaves, a panic being one more error, so that one class does not hide
// the others.
func weaveCalmly(data []byte, pick func(weave.MethodInfo) []*weave.Template) (result *weave.Result, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("the weaver panics: %v", panicked)
		}
	}()
	return weave.NewWeaver().Weave(data, pick)
}

var depth = regexp.MustCompile(` depth (-?\d+)$`)

// compareRuns runs all classes in one JVM.
func compareRuns(t *testing.T, j java, root string) {
	t.Helper()
	args := []string{"-Xverify:all", "-Xint", "-cp", j.dir, "RunAll"}
	for _, weaving := range weavings {
		args = append(args, filepath.Join(root, weaving.name))
	}
	outcome := jvmtest.Run(t, j.JDK, args...)
	if outcome.Exit != 0 {
		t.Fatalf("exit code %d\n%s\n%s", outcome.Exit, outcome.Stdout, outcome.Stderr)
	}
	leaves := map[string]bool{}
	for _, h := range handmades {
		leaves[h.name] = h.leaves
	}
	plain := map[string]string{}
	for line := range strings.Lines(outcome.Stdout) {
		if strings.HasPrefix(line, "| ") {
			t.Errorf("a template says: %s", line)
			continue
		}
		where, what, _ := strings.Cut(strings.TrimSpace(line), ":")
		weaving, file, _ := strings.Cut(where, "/")
		open := depth.FindString(what)
		what = strings.TrimSuffix(what, open)
		if weaving == "plain" {
			plain[file] = what
			if strings.Contains(what, "VerifyError") || strings.Contains(what, "ClassFormatError") {
				t.Errorf("%s is not sound itself: %s", file, what)
			}
			continue
		}
		if what != plain[file] {
			t.Errorf("%s\n gives  %s\n unwoven%s", where, what, plain[file])
		}
		name, _, _ := strings.Cut(file, "_")
		if open != " depth 0" && !leaves[name] {
			t.Errorf("%s: templates were entered and not left:%s", where, open)
		}
	}
	if len(plain) < len(handmades) {
		t.Errorf("%d classes ran, there are %d", len(plain), len(handmades))
	}
}
