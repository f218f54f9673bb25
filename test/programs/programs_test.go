package programs

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// leftAlone names, by program, the methods that cannot be woven.
var leftAlone = map[string][]string{
	"TooLarge":       {"nearlyFull"},
	"EmptyFinalizer": {"finalize"},
}

// uncounted are programs whose counters mean nothing, and why.
var uncounted = map[string]string{
	"ExitCodes": "ends inside woven methods",
	"Recursion": "a full stack may end a probe between its entry and its count",
}

// neverLeft says how many activations a program's counters miss at exit: those
// of constructors that fail before super(...) or this(...) has returned, where
// the JVM allows no handler.
var neverLeft = map[string]int64{
	// new InArguments(), new InSuper(), and new Chained(int) with 1 and with 6.
	"ThrowingConstructors": 4,
	// new Early(-1), and both constructors of new Chained().
	"FlexibleConstructors": 3,
}

// A program is a class with its nested classes, compiled together with others.
type program struct {
	name    string
	classes string // directory
}

// TestWovenProgramsBehaveAlike compares programs with what they do when they are
// woven. Outside a soak the JDKs take turns at the programs that all can run.
func TestWovenProgramsBehaveAlike(t *testing.T) {
	levels := []int{17, 21, 25}
	sources := map[int][]string{17: generate(t)}
	for _, level := range levels {
		found, err := filepath.Glob(fmt.Sprintf("src%d/*.java", level))
		if err != nil || len(found) == 0 {
			t.Fatalf("no programs for Java %d: %v", level, err)
		}
		sources[level] = append(sources[level], found...)
	}
	for _, jdk := range jvmtest.JDKs(t) {
		choices, runtime := weavings(t, jdk)
		var paths []string
		for _, level := range levels {
			all := sources[level]
			for i, path := range all {
				if level == 17 && jvmtest.Turn(t, jdk, i, len(all)) || level > 17 && level <= jdk.Major {
					paths = append(paths, path)
				}
			}
		}
		classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: paths, Flags: []string{"-parameters"}})
		for i, path := range paths {
			name := strings.TrimSuffix(filepath.Base(path), ".java")
			t.Run(fmt.Sprintf("jdk%d/%s", jdk.Major, name), func(t *testing.T) {
				t.Parallel()
				program{name, classes}.compare(t, jdk, i, choices, runtime)
			})
		}
	}
}

// compare runs the program as it is, then woven in each way, and at last woven in
// the last way with its counters shown. Outside a soak the programs, which have
// numbers, take turns at the ways before the last, which has the templates of the
// others.
func (p program) compare(t *testing.T, jdk jvmtest.JDK, number int, choices []weaving, runtime []string) {
	t.Helper()
	want := run(t, jdk, nil, []string{p.classes}, p.name)
	if want.Stdout == "" {
		t.Fatalf("the program proves nothing: %+v", want)
	}
	last := len(choices) - 1
	for i, choice := range choices {
		if i != last && i != number%last && !jvmtest.Soak() {
			continue
		}
		woven := p.weave(t, choice)
		path := append([]string{woven}, runtime...)
		// Classes of the class path are verified always. The flag verifies the JDK's own too, which
		// takes longer than the program.
		var flags []string
		if i == last && jvmtest.Soak() {
			flags = []string{"-Xverify:all"}
		}
		if got := run(t, jdk, flags, path, p.name); got != want {
			t.Errorf("woven with %s:\n%s", choice.name, difference(got, want))
		}
		if uncounted[p.name] == "" && i == last {
			p.checkCounters(t, run(t, jdk, nil, path, "fixture.CountingMain", p.name))
		}
	}
}

func (p program) checkCounters(t *testing.T, outcome jvmtest.Outcome) {
	t.Helper()
	var entered, exited, richEntered, richLeft, inconsistent int64
	_, line, _ := strings.Cut(outcome.Stdout, "\ncounters ")
	if _, err := fmt.Sscan(line, &entered, &exited, &richEntered, &richLeft, &inconsistent); err != nil {
		t.Fatalf("no counters: %v\n%+v", err, outcome)
	}
	if entered == 0 || entered-exited != neverLeft[p.name] {
		t.Errorf("probe entered %d, exited %d; want a difference of %d", entered, exited, neverLeft[p.name])
	}
	if richEntered != entered || richLeft != exited || inconsistent != 0 {
		t.Errorf("rich entered %d, left %d, inconsistent %d; probe inside it entered %d, exited %d",
			richEntered, richLeft, inconsistent, entered, exited)
	}
}

// run runs a main class. Programs are short: start-up is most of what they take.
func run(t *testing.T, jdk jvmtest.JDK, flags, classpath []string, args ...string) jvmtest.Outcome {
	t.Helper()
	all := slices.Concat(flags, []string{
		"-cp", strings.Join(classpath, string(os.PathListSeparator)),
	}, args)
	return jvmtest.RunBriefly(t, jdk, all...)
}

// difference shows the first lines that differ.
func difference(got, want jvmtest.Outcome) string {
	var b strings.Builder
	if got.Exit != want.Exit {
		fmt.Fprintf(&b, "exit code %d, want %d\n", got.Exit, want.Exit)
	}
	for _, stream := range []struct{ name, got, want string }{
		{"stdout", got.Stdout, want.Stdout},
		{"stderr", got.Stderr, want.Stderr},
	} {
		gotLines, wantLines := strings.Split(stream.got, "\n"), strings.Split(stream.want, "\n")
		for i := range max(len(gotLines), len(wantLines)) {
			g, w := lineAt(gotLines, i), lineAt(wantLines, i)
			if g != w {
				fmt.Fprintf(&b, "%s line %d:\n  got  %s\n  want %s\n", stream.name, i+1, g, w)
				break
			}
		}
	}
	if strings.Contains(got.Stderr, "VerifyError") || strings.Contains(got.Stderr, "ClassFormatError") {
		b.WriteString(got.Stderr)
	}
	return b.String()
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(nothing)"
}

// weaving is a choice of templates, the outermost first.
type weaving struct {
	name      string
	templates []*weave.Template
}

// weavings compiles the templates, and returns the choices of them together
// with the class path that woven programs need.
func weavings(t *testing.T, jdk jvmtest.JDK) ([]weaving, []string) {
	t.Helper()
	jar := filepath.Join(t.TempDir(), "sonde-runtime.jar")
	if err := os.WriteFile(jar, agent.RuntimeJar(), 0o644); err != nil {
		t.Fatal(err)
	}
	class, method, ok := agent.Template("probe")
	if !ok {
		t.Fatal("no built-in template probe")
	}
	probe := compileTemplate(t, class, method)

	sources, err := filepath.Glob("templates/*.java")
	if err != nil {
		t.Fatal(err)
	}
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: sources, Classpath: []string{jar}, Flags: []string{"--release", "17"}})
	class, err = os.ReadFile(filepath.Join(classes, "fixture", "Rich.class"))
	if err != nil {
		t.Fatal(err)
	}
	rich := compileTemplate(t, class, "rich")
	return []weaving{
		{"probe", []*weave.Template{probe}},
		{"rich", []*weave.Template{rich}},
		{"nested", []*weave.Template{rich, probe}},
	}, []string{jar, classes}
}

func compileTemplate(t *testing.T, class []byte, method string) *weave.Template {
	t.Helper()
	template, err := weave.CompileTemplate(class, method)
	if err != nil {
		t.Fatal(err)
	}
	return template
}

// weave weaves every method of every class of the program and returns the
// directory of the results. Nothing may be left alone but methods listed in
// leftAlone, each of which must be.
func (p program) weave(t *testing.T, choice weaving) string {
	t.Helper()
	out := t.TempDir()
	weaver := weave.NewWeaver()
	stay := make(map[string]bool)
	for _, method := range leftAlone[p.name] {
		stay[method] = false
	}
	err := filepath.WalkDir(p.classes, func(path string, entry fs.DirEntry, err error) error {
		outer, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".class"), "$")
		if err != nil || entry.IsDir() || outer != p.name {
			return err
		}
		class, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		result, err := weaver.Weave(class, func(m weave.MethodInfo) []*weave.Template {
			if !m.HasCode {
				return nil
			}
			return choice.templates
		})
		if err != nil {
			return err
		}
		for _, method := range result.Methods {
			if method.Woven || method.Reason == nil {
				continue
			}
			if _, known := stay[method.Name]; !known {
				t.Errorf("%s: %s%s was left alone: %v", filepath.Base(path), method.Name, method.Descriptor, method.Reason)
			}
			stay[method.Name] = true
		}
		if result.Bytes != nil {
			class = result.Bytes
		}
		return os.WriteFile(filepath.Join(out, filepath.Base(path)), class, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	for method, left := range stay {
		if !left {
			t.Errorf("%s was woven, but should have been left alone", method)
		}
	}
	return out
}

// generated are programs too long to be written by hand: each function returns
// the members of a class of that name.
var generated = map[string]func() string{
	"LongJumps":  longJumps,
	"HugeSwitch": hugeSwitch,
	"ManyLocals": manyLocals,
	"TooLarge":   tooLarge,
}

// generate writes the sources of the generated programs and returns their paths.
func generate(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(generated)) {
		path := filepath.Join(dir, name+".java")
		text := fmt.Sprintf("public final class %s {\n%s}\n", name, generated[name]())
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// longJumps has loops whose jumps just fit into 16 bits: each of their returns
// grows when woven, so that they fit no more. A line takes 11 bytes. In the
// third method javac itself needs wide jumps; every other line there returns
// nothing, or it would be too large when woven.
func longJumps() string {
	var b strings.Builder
	for _, method := range []struct {
		name        string
		lines       int
		returnEvery int
	}{{"fits", 2900, 1}, {"justFits", 2970, 1}, {"needsWideJumps", 3150, 2}} {
		fmt.Fprintf(&b, "static int %s(int x) {\n  for (;;) {\n", method.name)
		for i := range method.lines {
			then := fmt.Sprintf("return %d", 2000+i)
			if i%method.returnEvery != 0 {
				then = "x += 3"
			}
			fmt.Fprintf(&b, "    if (x == %d) %s;\n", 1000+i, then)
		}
		b.WriteString("    x += 500;\n  }\n}\n")
	}
	// A condition that jumps over everything, an exception block around it, and locals of every kind alive.
	b.WriteString("static long over(int x, long wide) {\n  double d = 0.5;\n  try {\n    if (x > 3) {\n")
	for i := range 2600 {
		fmt.Fprintf(&b, "      if (x == %d) return wide;\n", 1000+i)
	}
	b.WriteString("    } else { wide = 10 / x; }\n    d += wide;\n  } catch (ArithmeticException e) {\n    return -7L;\n  }\n  return (long) (d * 2);\n}\n")
	b.WriteString("public static void main(String[] args) {\n")
	for _, call := range []string{
		"fits(1000)", "fits(3899)", "fits(2)", "justFits(1001)", "justFits(3969)", "justFits(-3)",
		"needsWideJumps(1002)", "needsWideJumps(4148)", "needsWideJumps(7)",
		"over(1500, 1L << 40)", "over(9, 5L)", "over(2, 5L)", "over(0, 5L)",
	} {
		fmt.Fprintf(&b, "  System.out.println(%s);\n", call)
	}
	b.WriteString("}\n")
	return b.String()
}

// hugeSwitch has a dense and a sparse switch of 1,500 cases, each returning.
func hugeSwitch() string {
	var b strings.Builder
	b.WriteString("static String dense(int n) {\n  switch (n) {\n")
	for i := range 1500 {
		fmt.Fprintf(&b, "    case %d: return \"d%d\";\n", i, i%97)
	}
	b.WriteString("    default: return \"none\";\n  }\n}\nstatic double sparse(int n) {\n  double sum = 0;\n  while (true) {\n    switch (n) {\n")
	for i := range 1500 {
		switch i % 3 {
		case 0:
			fmt.Fprintf(&b, "      case %d: return sum + %d;\n", i*1009, i)
		case 1:
			fmt.Fprintf(&b, "      case %d: sum += 1; n = %d; continue;\n", i*1009, (i-1)*1009)
		default:
			fmt.Fprintf(&b, "      case %d: sum += 2; n = %d; break;\n", i*1009, (i-1)*1009)
		}
	}
	b.WriteString("      default: return -1;\n    }\n  }\n}\n")
	b.WriteString(`public static void main(String[] args) {
  StringBuilder all = new StringBuilder();
  for (int i = -1; i <= 1500; i += 7) all.append(dense(i));
  System.out.println(all.length() + " " + all.toString().hashCode());
  double sum = 0;
  for (int i = -1; i <= 1500; i++) sum += sparse(i * 1009);
  System.out.println(sum);
}
`)
	return b.String()
}

// manyLocals has more variables than one byte can number, alive across
// branches and an exception block.
func manyLocals() string {
	const count = 400
	var b strings.Builder
	b.WriteString("static String all(int seed, long wide) {\n")
	for i := range count {
		kind := []string{"int", "long", "double", "String"}[i%4]
		value := []string{fmt.Sprintf("seed + %d", i), fmt.Sprintf("wide * %d", i), fmt.Sprintf("seed / %d.0", i+1), fmt.Sprintf("\"s\" + (seed %% %d)", i+1)}[i%4]
		fmt.Fprintf(&b, "  %s v%d = %s;\n", kind, i, value)
	}
	b.WriteString("  for (int round = 0; round < 3; round++) {\n    try {\n")
	for i := 0; i < count; i += 4 {
		fmt.Fprintf(&b, "      v%d++; v%d += v%d; v%d -= round;\n", i, i+1, i, i+2)
	}
	fmt.Fprintf(&b, "      if (v%d / (round - 1) > 1000000) return \"early\";\n    } catch (ArithmeticException e) {\n      v3 += e.getMessage();\n    }\n  }\n", count-4)
	b.WriteString("  StringBuilder out = new StringBuilder();\n")
	for i := range count {
		fmt.Fprintf(&b, "  out.append(v%d).append(',');\n", i)
	}
	b.WriteString("  return out.toString();\n}\npublic static void main(String[] args) {\n  System.out.println(all(5, 1L << 33));\n  System.out.println(all(99999999, -1).hashCode());\n}\n")
	return b.String()
}

// tooLarge has a method near the limit of 64 KiB, which cannot be woven and
// must be left alone, beside others that can.
func tooLarge() string {
	var b strings.Builder
	b.WriteString("static int nearlyFull(int x) {\n")
	for i := range 5900 {
		fmt.Fprintf(&b, "  if (x == %d) return %d;\n", 1000+i, 2000+i)
	}
	b.WriteString("  return small(x);\n}\nstatic int small(int x) { return -x; }\n")
	b.WriteString("public static void main(String[] args) {\n  System.out.println(nearlyFull(1000) + \" \" + nearlyFull(6899) + \" \" + nearlyFull(1));\n}\n")
	return b.String()
}
