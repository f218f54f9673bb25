package classtest_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// notLoadable says why a class of the zoo is no class to a JVM.
var notLoadable = map[string]string{
	"module-info.class": "a module, not a class",
}

// TestHandmadeClassesLoad asks the JVM whether what the assembler made is sound.
func TestHandmadeClassesLoad(t *testing.T) {
	jdk := jvmtest.Need(t, 25)
	files, err := filepath.Glob("../testdata/zoo/handmade/*.class")
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(file string) bool { return notLoadable[filepath.Base(file)] != "" })
	for i, verdict := range loadVerdicts(t, jdk, files) {
		if verdict != "ok" {
			t.Errorf("%s: %s", files[i], verdict)
		}
	}
}

// loadVerdicts has a JVM load, link and initialise classes, each on its own.
func loadVerdicts(t *testing.T, jdk jvmtest.JDK, files []string, classPath ...string) []string {
	t.Helper()
	loader := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"../testdata/loader/LoadAll.java"}})
	path := strings.Join(append(classPath, loader), string(filepath.ListSeparator))
	outcome := jvmtest.Run(t, jdk, append([]string{"--enable-preview", "-cp", path, "LoadAll"}, files...)...)
	if outcome.Exit != 0 {
		t.Fatalf("exit code %d: %s", outcome.Exit, outcome.Stderr)
	}
	var verdicts []string
	for line := range strings.Lines(outcome.Stdout) {
		_, verdict, _ := strings.Cut(strings.TrimSpace(line), " ")
		verdicts = append(verdicts, verdict)
	}
	if len(verdicts) != len(files) {
		t.Fatalf("%d classes were given, %d answered:\n%s", len(files), len(verdicts), outcome.Stdout)
	}
	return verdicts
}

var (
	ourInstruction   = regexp.MustCompile(`(?m)^ +L\d+: ([a-z0-9_]+(?:$| [a-z]+)?)`)
	theirInstruction = regexp.MustCompile(`(?m)^ +\d+: ([a-z][a-z0-9_]*)`)
)

// notForJavap says why a class of the zoo cannot be compared.
var notForJavap = map[string]string{
	"LongestBody.class":       "too long to be worth printing",
	"FarJumps.class":          "too long to be worth printing",
	"SwitchShapes.class":      "javap stops at the largest int as a key",
	"UnknownAttributes.class": "javap decodes attributes in places where they mean nothing",
}

// TestReferenceAgreesWithJavap judges the judge: javap finds the same
// instructions in the same order, in all classes together.
func TestReferenceAgreesWithJavap(t *testing.T) {
	jdk := jvmtest.Need(t, 25)
	type instruction struct{ file, name string }
	var ours []instruction
	args := []string{"-c", "-p"}
	eachClass(t, "../testdata/zoo", func(t *testing.T, data []byte) {
		_, file, _ := strings.Cut(t.Name(), "/")
		if reason := notForJavap[filepath.Base(file)]; reason != "" {
			t.Skip(reason)
		}
		text, err := classtest.Describe(data)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, filepath.Join("../testdata/zoo", file))
		for _, match := range ourInstruction.FindAllStringSubmatch(text, -1) {
			ours = append(ours, instruction{file, javapName(match[1])})
		}
	})
	outcome := jvmtest.RunTool(t, jdk, "javap", args...)
	theirs := theirInstruction.FindAllStringSubmatch(outcome.Stdout, -1)
	for i, our := range ours {
		switch {
		case i >= len(theirs):
			t.Fatalf("%s: javap ends before %s", our.file, our.name)
		case our.name != strings.Replace(theirs[i][1], "ldc_w", "ldc", 1):
			t.Fatalf("%s: we read %s, javap %s", our.file, our.name, theirs[i][1])
		}
	}
	if len(theirs) > len(ours) {
		t.Errorf("javap finds %d instructions more", len(theirs)-len(ours))
	}
}

// javapName turns "wide iload", the only instruction with a name of two words,
// into what javap calls it.
func javapName(text string) string {
	if name, ok := strings.CutPrefix(text, "wide "); ok {
		return name + "_w"
	}
	name, _, _ := strings.Cut(text, " ")
	return name
}
