package doctor

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

func TestParseFlags(t *testing.T) {
	got := parseFlags("4711:\n-XX:-BytecodeVerificationRemote -XX:MaxHeapSize=64 -XX:+UseG1GC -XX:AOTCache=a=b other\n")
	want := map[string]string{"BytecodeVerificationRemote": "false", "MaxHeapSize": "64", "UseG1GC": "true", "AOTCache": "a=b"}
	if !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func TestParseCommandLine(t *testing.T) {
	got := parseCommandLine("VM Arguments:\njvm_args: -Dx=1 -Xint \njava_command: Main -Xno\n")
	if !slices.Equal(got, []string{"-Dx=1", "-Xint"}) {
		t.Errorf("%q", got)
	}
	if got := parseCommandLine("java_command: Main"); got != nil {
		t.Errorf("%q", got)
	}
}

func TestParseProperties(t *testing.T) {
	got := parseProperties("#Sun Nov 15\n\nplain=a b\r\nempty=\nnone\nf=g=h\n")
	want := map[string]string{"plain": "a b", "empty": "", "f": "g=h"}
	if !maps.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestMemory(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a/memory.max", "1000") // the tighter one is the outer
	write("a/memory.current", "900")
	write("a/b/memory.max", "2000")
	write("a/b/memory.current", "500")
	write("a/b/memory.stat", "anon 5\ninactive_file 300")
	write("c/memory.max", "max")
	write("c/memory.current", "500")
	write("memory/d/memory.limit_in_bytes", "1000")
	write("memory/d/memory.usage_in_bytes", "700")
	write("memory/d/memory.stat", "inactive_file 1\ntotal_inactive_file 200")
	write("memory/e/memory.limit_in_bytes", "9223372036854771712")
	write("memory/e/memory.usage_in_bytes", "700")
	for cgroup, want := range map[string]Memory{
		"0::/a/b": {1000, 900}, "0::/a": {1000, 900}, "0::/c": {}, "0::/../x": {}, "0::/nowhere": {}, "": {}, "x": {},
		"0::/a\n4:memory:/d\n": {1000, 500}, "4:memory:/e": {}, "5:cpu:/a\n0::/a/b": {1000, 900},
	} {
		if got := readMemory(root, cgroup); got != want {
			t.Errorf("%q: %+v, want %+v", cgroup, got, want)
		}
	}
}

func TestAgents(t *testing.T) {
	got := findAgents(
		[]string{
			"-Xmx1g", "-javaagent:/opt/otel/opentelemetry-javaagent.jar=a=b", "-javaagent:/opt/own.jar", "-agentlib:jdwp=transport=dt_socket",
			"-agentpath:/opt/oneagent/liboneagentloader.so", "-javaagent:/opt/AppServerAgent/javaagent.jar", "-javaagent:/opt/sonde-agent.jar",
		},
		[]string{
			"/opt/glowroot.d/app.jar", "/opt/glowroot.txt", "/app/lib/aspectjweaver-1.9.jar", "/opt/x/arthas-agent.jar", "/tmp/.sonde-1-2/agent.jar",
			"/opt/libasyncProfiler.so", "/opt/otel/opentelemetry-javaagent.jar", "/usr/lib/libjvm.so",
		},
	)
	want := []Agent{
		{"OpenTelemetry", Transforms, "/opt/otel/opentelemetry-javaagent.jar", true},
		{"own.jar", Transforms, "/opt/own.jar", true},
		{"debugger (jdwp)", Debugs, "libjdwp.so", true},
		{"Dynatrace", Transforms, "/opt/oneagent/liboneagentloader.so", true},
		{"AppDynamics", Transforms, "/opt/AppServerAgent/javaagent.jar", true},
		{"Arthas", Redefines, "/opt/x/arthas-agent.jar", false},
		{"async-profiler", Samples, "/opt/libasyncProfiler.so", false},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
}

func TestOptions(t *testing.T) {
	f := Facts{
		Environment: map[string]string{"JAVA_TOOL_OPTIONS": "-javaagent:/e.jar -Dx"},
		Arguments:   []string{"-Dx", "-javaagent:/my", "agents/a.jar", "-javaagent:/from/file.jar"},
	}
	f.JVM.Main = "Main"
	got := f.options([]string{"java", "-javaagent:/my agents/a.jar", "Main", "-javaagent:/the/programs.jar"})
	want := []string{"java", "-javaagent:/my agents/a.jar", "-javaagent:/e.jar", "-Dx", "agents/a.jar", "-javaagent:/from/file.jar"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestProcessTexts(t *testing.T) {
	got := optionVariables([]string{"PATH=/bin", "JAVA_TOOL_OPTIONS=-Da=b", "SECRET=x"})
	if !maps.Equal(got, map[string]string{"JAVA_TOOL_OPTIONS": "-Da=b"}) {
		t.Errorf("%q", got)
	}
}

// FuzzAnswers reads any text as answers of a JVM, and as the kernel's list of control groups.
func FuzzAnswers(f *testing.F) {
	f.Add("VM Arguments:\njvm_args: -Xmx1g -Da=b\n-XX:+UseG1GC -XX:-A -XX:B=1 -XX:\na.b=c\\:d\n")
	f.Add("0::/a/b\n4:memory:/c\n")
	f.Fuzz(func(t *testing.T, text string) {
		size := 0
		for _, word := range parseCommandLine(text) {
			size += len(word)
		}
		if size > len(text) {
			t.Errorf("%d bytes of arguments in %d", size, len(text))
		}
		for _, values := range []map[string]string{parseFlags(text), parseProperties(text)} {
			if len(values) > len(text) {
				t.Errorf("%d values in %d bytes", len(values), len(text))
			}
		}
		if g, found := parseControlGroup(text); len(g.path) > len(text) || g.path != "" && !found {
			t.Errorf("a control group %+v, found: %v", g, found)
		}
	})
}
