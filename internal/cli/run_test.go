package cli

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// runHere runs a command line in this process.
func runHere(ctx context.Context, args ...string) (code int, out, err string) {
	var stdout, stderr strings.Builder
	code = run(ctx, args, streams{out: &stdout, err: &stderr})
	return code, stdout.String(), stderr.String()
}

func TestNearCommands(t *testing.T) {
	for wrong, want := range map[string]string{"foo": "", "cont": "count", "hott": "hot", "tarce": "trace", "moniter": "monitor"} {
		var out strings.Builder
		_ = run(t.Context(), []string{wrong}, streams{out: io.Discard, err: &out})
		if _, near, _ := strings.Cut(out.String(), "did you mean "); strings.TrimSpace(strings.SplitN(near, "?", 2)[0]) != want {
			t.Errorf("%s: %s", wrong, out.String())
		}
	}
}

func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "Broken.class")
	if err := os.WriteFile(broken, []byte("\xca\xfe\xba\xbe\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	for _, tt := range []struct {
		args string
		code int
		text string // in the message
	}{
		{"version", exitOK, ""},
		{"", exitOK, ""},
		{"instrument --help", exitOK, ""},
		{"nonsense", exitUsage, "nonsense"},
		{"version x", exitUsage, "unexpected argument"},
		{"dump", exitUsage, "missing"},
		{"dump x --nonsense", exitUsage, "--nonsense"},
		{"dump x --method a..b", exitUsage, "column 3"},
		{"dump " + dir + "/none", exitError, "no such file"},
		{"dump " + broken, exitError, "Broken.class: "},
		{"dump " + broken + "!x", exitError, "only for jars"},
		{"instrument x", exitUsage, "-o OUT"},
		{"instrument x -o y", exitUsage, "--template"},
		{"instrument x -o y -t timed", exitUsage, "--match"},
		{"instrument x -o y -t timed -m !a.b", exitUsage, "leading !"},
		{"instrument x -o y -t timed -m a", exitUsage, "column 1"},
		{"instrument x -o y -t timed -m ** -j 0", exitUsage, "--jobs"},
		{"instrument " + dir + "/none -o y -t timed -m **", exitError, "no such file"},
		{"instrument " + broken + " -o " + out + " -t nonsense -m **", exitUsage, "probe, timed"},
		{"instrument " + broken + " -o " + broken + " -t timed -m **", exitError, "is the input itself"},
		{"instrument " + broken + " -o " + out + " -t timed -m ** --strict", exitError, "no class can be read"},
		{"instrument " + broken + " -o " + out + " -t timed -m **", exitError, "no class can be read"},
		{"runtime-jar -o " + dir, exitError, "is a directory"},
	} {
		code, stdout, stderr := runHere(context.Background(), strings.Fields(tt.args)...)
		if code != tt.code || !strings.Contains(stderr, tt.text) {
			t.Errorf("sonde %s: exit code %d, want %d; message %q should hold %q", tt.args, code, tt.code, stderr, tt.text)
		}
		if code == exitError && strings.Count(stderr, "\n") != 1 {
			t.Errorf("sonde %s: message is not one line: %q", tt.args, stderr)
		}
		if code == exitOK && stdout == "" {
			t.Errorf("sonde %s: no output", tt.args)
		}
		if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("sonde %s: left an output behind", tt.args)
		}
	}
}

// TestErrorsSteerNoTerminal: what others have written may be in them.
func TestErrorsSteerNoTerminal(t *testing.T) {
	if got := format.OneLine(errors.New("a\x1b[2Jb\r\nc\td\u009b\u202e")); got != "a?[2Jb; c d??" {
		t.Errorf("%q", got)
	}
	var written strings.Builder
	f := &planCommand{streams: streams{err: &written}}
	f.note("\x1b]0;x\a")
	if written.String() != "note: ?]0;x?\n" {
		t.Errorf("%q", written.String())
	}
}

// TestNamesInJarsSteerNoTerminal: whoever made a jar chose the names of its entries.
func TestNamesInJarsSteerNoTerminal(t *testing.T) {
	class, err := os.ReadFile(filepath.Join("..", "..", "classfile", "testdata", "zoo", "8", "PrivateAccess.class"))
	if err != nil {
		t.Fatal(err)
	}
	const escape = "\x1b]0;owned\x07\u009b31m"
	jar := func(name string, more ...string) string {
		path := filepath.Join(t.TempDir(), name)
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		archive := zip.NewWriter(file)
		for _, name := range append(more, escape+"/A.class", escape+"/B.class", "lib/"+escape+".jar") {
			entry, err := archive.Create(name)
			if err == nil {
				_, err = entry.Write(class)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(archive.Close(), file.Close()); err != nil {
			t.Fatal(err)
		}
		return path
	}
	hostile, other := jar("hostile.jar", escape+"/C.class"), jar("other.jar", escape+"/D.class")
	for _, args := range [][]string{
		{"instrument", hostile, "-o", filepath.Join(t.TempDir(), "out.jar"), "-t", "probe", "-m", "**", "-v"},
		{"dump", hostile}, {"dump", hostile, "--diff", other}, {"dump", hostile + "!" + escape}, {"dump", hostile, "--method", "a." + escape + "("},
	} {
		_, stdout, stderr := runHere(t.Context(), args...)
		if at := strings.IndexFunc(stdout+stderr, func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }); at >= 0 || stdout+stderr == "" {
			t.Errorf("sonde %.20q: %.200q", args, (stdout + stderr)[max(0, at-50):])
		}
	}
}

func TestNoJavac(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "T.java")
	if err := os.WriteFile(source, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	t.Setenv("JAVA_HOME", dir)
	for _, args := range [][]string{nil, {"--javac", filepath.Join(dir, "javac")}} {
		args = append([]string{"instrument", dir, "-o", dir + ".out", "-t", source, "-m", "**"}, args...)
		code, _, stderr := runHere(context.Background(), args...)
		if code != exitError || !strings.Contains(stderr, "--javac") {
			t.Errorf("exit code %d, message %q", code, stderr)
		}
	}
}

func TestInterruptedInstrumentWritesNothing(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := os.MkdirAll(filepath.Join(in, "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	code, _, stderr := runHere(ctx, "instrument", in, "-o", out, "-t", "timed", "-m", "**")
	if code != exitError || !strings.Contains(stderr, "interrupted") {
		t.Errorf("exit code %d, message %q", code, stderr)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

func TestBar(t *testing.T) {
	for _, done := range []int64{0, 1, 50, 99, 100} {
		line := barLine("weaving", 40, done, 100)
		if utf8.RuneCountInString(line) != 39 {
			t.Errorf("at %d: %d columns: %q", done, utf8.RuneCountInString(line), line)
		}
	}
	if line := barLine("weaving", 40, 100, 100); strings.Contains(line, "·") || !strings.Contains(line, "100 %") {
		t.Errorf("full bar %q", line)
	}
	if line := barLine("weaving", 12, 50, 100); line != "weaving  50 %" {
		t.Errorf("narrow bar %q", line)
	}
	var out strings.Builder
	update, remove := streams{err: &out}.progressBar("weaving")
	update(1, 2)
	remove()
	if out.String() != "" {
		t.Errorf("no terminal, yet drew %q", out.String())
	}
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := format.Grouped(n); got != want {
			t.Errorf("format.Grouped(%d) = %s", n, got)
		}
	}
}

func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{"a/b.jar:c": "a/b.jar:c", "A$B": "'A$B'", "it's": `'it'\''s'`, "": "''"} {
		if got := shellWord(word); got != want {
			t.Errorf("shellWord(%q) = %s, want %s", word, got, want)
		}
	}
}

func TestMain(m *testing.M) {
	testscript.Main(isolated{m}, map[string]func(){"sonde": func() { os.Exit(Main(os.Args[1:])) }})
}

// isolated tests have a service of their own: see jvmtest.Isolated.
type isolated struct{ *testing.M }

func (i isolated) Run() int { return jvmtest.Isolated("sonde", i.M.Run) }

// isolate makes the commands of a script as isolated as the tests. Scripts do not inherit the
// environment.
func isolate(env *testscript.Env) {
	for _, name := range jvmtest.Isolation() {
		env.Setenv(name, os.Getenv(name))
	}
	env.Setenv("XDG_DATA_HOME", filepath.Join(env.WorkDir, "data"))
}

// TestScripts runs what needs nothing but sonde. Scripts find the classes with one
// defect each in $INVALID, and some of them in broken.jar; classes of all kinds are in
// $ZOO.
func TestScripts(t *testing.T) {
	invalid, err := filepath.Abs("../../classfile/testdata/invalid")
	if err != nil {
		t.Fatal(err)
	}
	zoo, err := filepath.Abs(zooFolder)
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("INVALID", invalid)
			env.Setenv("ZOO", zoo)
			isolate(env)
			return writeJar(filepath.Join(env.WorkDir, "broken.jar"), invalid, "pool-cycle.class", "truncated-in-code.class")
		},
	})
}

func writeJar(name, dir string, files ...string) error {
	var jar bytes.Buffer
	out := zip.NewWriter(&jar)
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return err
		}
		entry, err := out.Create("a/" + file)
		if err != nil {
			return err
		}
		if _, err := entry.Write(data); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.WriteFile(name, jar.Bytes(), 0o600)
}

// TestScriptsWithJDK runs what compiles, weaves and runs Java; outside a soak the
// JDKs take turns at the scripts.
func TestScriptsWithJDK(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("testdata/script/jdk/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			var files []string
			for i, script := range scripts {
				if jvmtest.Turn(t, jdk, i, len(scripts)) {
					files = append(files, script)
				}
			}
			testscript.Run(t, testscript.Params{
				Files:               files,
				RequireExplicitExec: true,
				Setup: func(env *testscript.Env) error {
					env.Setenv("JAVA_HOME", jdk.Home)
					isolate(env)
					env.Setenv("PATH", filepath.Join(jdk.Home, "bin")+string(os.PathListSeparator)+env.Getenv("PATH"))
					// Programs this short only lose by optimising.
					env.Setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
					return nil
				},
			})
		})
	}
}
