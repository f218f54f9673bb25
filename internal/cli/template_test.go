package cli

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// compileTemplates compiles templates in testdata, and returns the directory of their classes.
func compileTemplates(t *testing.T, sources ...string) string {
	t.Helper()
	runtime := filepath.Join(t.TempDir(), "runtime.jar")
	if err := os.WriteFile(runtime, agent.RuntimeJar(), 0o600); err != nil {
		t.Fatal(err)
	}
	f := jvmtest.Fixture{Classpath: []string{runtime}, Flags: []string{"--release", "8", "-Xlint:-options"}}
	for _, name := range sources {
		f.Sources = append(f.Sources, filepath.Join("testdata", "templates", name))
	}
	return jvmtest.Compile(t, jvmtest.Need(t, 17), f)
}

// TestTemplateRefusals checks that each mistake in a template is refused with file, line and remedy.
func TestTemplateRefusals(t *testing.T) {
	dir := compileTemplates(t, "Refused.java")
	text, err := os.ReadFile(filepath.Join("testdata", "templates", "Refused.java"))
	if err != nil {
		t.Fatal(err)
	}
	type mistake struct{ at, text string }
	mistakes := make(map[string][]mistake) // by class
	var names []string
	for i, line := range strings.Split(string(text), "\n") {
		if name, is := strings.CutPrefix(line, "class "); is {
			names = append(names, strings.Fields(name)[0])
		}
		if _, text, is := strings.Cut(line, " // "); is {
			name := names[len(names)-1]
			mistakes[name] = append(mistakes[name], mistake{"Refused.java:" + strconv.Itoa(i+1) + ": ", text})
		}
	}
	isTrusted := map[string]bool{"Locks": true, "Lambdas": true}
	for _, name := range names {
		code, stdout, stderr := runHere(t.Context(), "template", "check", filepath.Join(dir, name+".class"), "--trusted="+strconv.FormatBool(isTrusted[name]))
		got, want := strings.Split(strings.TrimSpace(stderr), "\n"), mistakes[name]
		if code != exitUsage || stdout != "" || len(got) != len(want) {
			t.Errorf("%s: exit code %d, %q; got %d lines, want %d:\n%s", name, code, stdout, len(got), len(want), stderr)
			continue
		}
		for i, line := range got {
			if !strings.HasPrefix(line, want[i].at) || !strings.Contains(line, want[i].text) {
				t.Errorf("%s: got %s\nwant %s… %s", name, line, want[i].at, want[i].text)
			}
		}
	}
}

// TestWovenDifference shows what a template adds to a method, and why a method does not get it.
func TestWovenDifference(t *testing.T) {
	dir := compileTemplates(t, "Payments.java", "Pay.java", "Made.java", "Twice.java")
	for _, test := range []struct {
		match string
		code  int
		out   []string
		said  string
	}{
		{"templates.Payments$Payment.<init>", exitOK, []string{"Made.class is a template that records made (sum)\n", "+       invokestatic java/lang/SondeHooks_", "Record.enter (I)J\n", "Record.add (IJ)V\n"}, ""},
		{"templates.Payments.main", exitOK, []string{"Made.class is a template"}, "note: main([Ljava/lang/String;)V does not get the template: "},
		{"templates.Payments.none", exitError, []string{"Made.class is a template"}, "no method with code matches"},
		{"none.none.none", exitError, nil, "no method with code matches"},
		{"none", exitUsage, nil, "--match: "},
	} {
		code, stdout, stderr := runHere(t.Context(), "template", "check", filepath.Join(dir, "Made.class"), "--trusted", "--in", dir, "--match", test.match)
		if code != test.code || !strings.Contains(stderr, test.said) || test.said == "" && stderr != "" {
			t.Errorf("%s: got %d, %s; want %d, %s", test.match, code, stderr, test.code, test.said)
		}
		for _, want := range test.out {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s: %q is missing in\n%s", test.match, want, stdout)
			}
		}
	}
	if code, _, stderr := runHere(t.Context(), "template", "check", filepath.Join(dir, "Made.class"), "--in", dir); code != exitUsage || !strings.Contains(stderr, "belong together") {
		t.Errorf("without --match: got %d, %s", code, stderr)
	}
}

// TestTemplateNew checks that the example is a template, and that it does not replace a file.
func TestTemplateNew(t *testing.T) {
	dir := t.TempDir()
	file, broken := filepath.Join(dir, "Orders.java"), filepath.Join(dir, "Broken.java")
	if code, _, stderr := runHere(t.Context(), "template", "new", "Orders", "-o", file); code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	code, stdout, stderr := runHere(t.Context(), "template", "check", file)
	if want := "is a template that records failures (event), micros (histogram), slow (counter)\n"; code != exitOK || !strings.HasSuffix(stdout, want) {
		t.Errorf("exit code %d: got %q, want %q; %s", code, stdout, want, stderr)
	}
	if err := os.WriteFile(broken, []byte("class Broken {\n    int x = ;\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args string
		code int
		text string
	}{
		{"template new Orders -o " + file, exitError, "exists"},
		{"template new orders", exitUsage, "a capital letter first"},
		{"template new", exitUsage, "name of the template"},
		{"template check " + broken, exitUsage, broken + ":2: does not compile: illegal start of expression"},
		{"template check " + file + ".txt", exitUsage, "is neither a .java nor a .class file"},
		{"template check " + file + ".java", exitError, "no such file"},
	} {
		if code, _, stderr := runHere(t.Context(), strings.Fields(test.args)...); code != test.code || !strings.Contains(stderr, test.text) {
			t.Errorf("sonde %s: got %d, %s; want %d, %s", test.args, code, stderr, test.code, test.text)
		}
	}
}
