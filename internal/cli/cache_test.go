package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

const zooFolder = "../../classfile/testdata/zoo/17"

// cacheOfZoo weaves some classes into a cache, and gives its directory and the key of
// the one called Finally.
func cacheOfZoo(t *testing.T) (dir string, key cache.Key) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "cache")
	d, err := cache.OpenDisk(cache.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	class, method := agent.LiveTemplate()
	template, err := weave.CompileTemplate(class, method)
	if err != nil {
		t.Fatal(err)
	}
	templates := []*weave.Template{template}
	recipe := cache.NewRecipe("v0.1.0", class)
	for _, name := range []string{"Finally", "Constructors", "Switches"} {
		original, err := os.ReadFile(filepath.Join(zooFolder, name+".class"))
		if err != nil {
			t.Fatal(err)
		}
		result, err := weave.NewWeaver().Weave(original, func(weave.MethodInfo) []*weave.Template { return templates })
		if err != nil {
			t.Fatal(err)
		}
		o := cache.OriginalOf(original)
		entry := cache.NewEntry(cache.Weaving{
			Class: name, Original: o, Engine: recipe.Engine(), Made: time.UnixMilli(1_800_000_000_000), Result: result,
			Templates: func(string, string) []string { return []string{"live"} },
		})
		if err := d.Put(t.Context(), recipe.Key(o, "all"), entry); err != nil {
			t.Fatal(err)
		}
		if name == "Finally" {
			key = recipe.Key(o, "all")
		}
	}
	return dir, key
}

// cacheSays runs a command on a cache, and wants texts in what it writes.
func cacheSays(t *testing.T, dir string, code int, command string, texts ...string) string {
	t.Helper()
	got, out, stderr := runHere(t.Context(), append(append([]string{"cache"}, strings.Fields(command)...), "--cache", dir)...)
	if got != code {
		t.Errorf("sonde cache %s: exit code %d, not %d: %s", command, got, code, stderr)
	}
	for _, text := range texts {
		if !strings.Contains(out+stderr, text) {
			t.Errorf("sonde cache %s: %q is not in\n%s%s", command, text, out, stderr)
		}
	}
	return out
}

func TestCacheCommands(t *testing.T) {
	dir, key := cacheOfZoo(t)
	if out := cacheSays(t, dir, exitOK, "ls", "Finally", "Constructors", "Switches"); strings.Count(out, "\n") != 4 {
		t.Error(out)
	}
	if out := cacheSays(t, dir, exitOK, "ls Fin*", "Finally"); strings.Contains(out, "Switches") {
		t.Error(out)
	}
	cacheSays(t, dir, exitOK, "ls no.such.Class", "nothing is cached")
	cacheSays(t, dir, exitOK, "ls --sort class --top 1", "Constructors", "and 2 entries more")
	cacheSays(t, dir, exitUsage, "ls --sort age", "used, size or class")
	cacheSays(t, dir, exitOK, "stats", dir, "3 of 3 classes", "v0.1.0: 3 entries", "at most 256M")
	cacheSays(t, dir, exitOK, "verify", "3 entries read", "0 damaged")
	cacheSays(t, dir, exitOK, "show Finally", key.String(), "by v0.1.0", "live", "0 not woven")
	cacheSays(t, dir, exitOK, "show "+key.String()[:8], "class     Finally")
	cacheSays(t, dir, exitError, "show Nothing", "sonde cache ls")
	cacheSays(t, dir, exitError, "show ffffffff", "sonde cache ls")
	cacheSays(t, dir, exitUsage, "show", "missing")
	cacheSays(t, dir, exitUsage, "show Finally --code --original x", "cannot be used together")
	cacheSays(t, dir, exitUsage, "list", "use ls, show, stats, verify or prune")
	cacheSays(t, dir, exitUsage, "prune --to much", "64M")
	cacheSays(t, dir, exitOK, "prune", "removed 0 entries")
	cacheSays(t, dir, exitOK, "prune --to 0", "removed 3 entries", "0 left")
	cacheSays(t, dir, exitOK, "ls", "nothing is cached")
	cacheSays(t, filepath.Join(dir, "none"), exitError, "ls", "no such directory", "--cache")
}

func TestCacheShowsCode(t *testing.T) {
	dir, _ := cacheOfZoo(t)
	original := filepath.Join(zooFolder, "Finally.class")
	cacheSays(t, dir, exitOK, "show Finally --code", "SondeHooks", "enter")
	cacheSays(t, dir, exitError, "show Finally --code --method nothing", "no method of Finally matches")
	// A class file, a folder with it, and the wrong file.
	for _, place := range []string{original, zooFolder} {
		if out := cacheSays(t, dir, exitOK, "show Finally --original "+place, "+ ", "SondeHooks"); strings.Contains(out, "\n  super") {
			t.Errorf("what did not change is shown:\n%s", out)
		}
	}
	cacheSays(t, dir, exitError, "show Finally --original "+filepath.Join(zooFolder, "Switches.class"), "its class file of Finally is not the one that was woven")
	cacheSays(t, dir, exitError, "show Finally --original "+t.TempDir(), "no class file of Finally")

	var shown document.CacheShow
	if err := json.Unmarshal([]byte(cacheSays(t, dir, exitOK, "show Finally --json --code")), &shown); err != nil {
		t.Fatal(err)
	}
	if shown.Class != "Finally" || len(shown.Methods) == 0 || len(shown.Methods[0].Offsets) == 0 || shown.Methods[0].ID == nil || shown.Code == "" {
		t.Errorf("%+v", shown)
	}
}

// TestCacheMapsTraces has offsets of woven code in each of the ways that JVMs write them.
func TestCacheMapsTraces(t *testing.T) {
	dir, key := cacheOfZoo(t)
	d, err := cache.OpenDisk(cache.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	entry, err := d.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	m := &entry.Methods[1]
	shifts, err := m.Offsets.Map()
	if err != nil {
		t.Fatal(err)
	}
	old, now := int(shifts[0].Old), int(shifts[0].New)
	const parameters = "int[], int"
	if !strings.HasPrefix(m.Descriptor, "([II)") {
		t.Fatalf("the test wants %s, not %s", parameters, m.Descriptor)
	}
	trace := filepath.Join(t.TempDir(), "trace")
	lines := []struct{ in, out string }{
		{"Exception in thread main", "Exception in thread main"},
		{"\tat Finally." + m.Name + "(Finally.java:4)", "\tat Finally." + m.Name + "(Finally.java:4)"},
		{
			fmt.Sprintf("    Finally.%s%s @%d: iload_0", m.Name, m.Descriptor, now),
			fmt.Sprintf("    Finally.%s%s @%d: iload_0  [woven: %d]", m.Name, m.Descriptor, old, now),
		},
		{
			fmt.Sprintf("j  Finally.%s%s+%d", m.Name, m.Descriptor, now),
			fmt.Sprintf("j  Finally.%s%s+%d  [woven: %d]", m.Name, m.Descriptor, old, now),
		},
		{
			fmt.Sprintf(" - Finally.%s(%s) @bci=%d, line=4 (Interpreted frame)", m.Name, parameters, now),
			fmt.Sprintf(" - Finally.%s(%s) @bci=%d, line=4 (Interpreted frame)  [woven: %d]", m.Name, parameters, old, now),
		},
		{
			fmt.Sprintf("j  Finally.%s%s+%d", m.Name, m.Descriptor, now-3),
			fmt.Sprintf("j  Finally.%s%s+0  [woven: %d, inserted before this]", m.Name, m.Descriptor, now-3),
		},
		{"j  Other." + m.Name + m.Descriptor + "+9", "j  Other." + m.Name + m.Descriptor + "+9"},
	}
	var in, want strings.Builder
	for _, line := range lines {
		in.WriteString(line.in + "\n")
		want.WriteString(line.out + "\n")
	}
	if err := os.WriteFile(trace, []byte(in.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := cacheSays(t, dir, exitOK, "show Finally --trace "+trace); got != want.String() {
		t.Errorf("got\n%s, not\n%s", got, want.String())
	}
	cacheSays(t, dir, exitOK, "show Switches --trace "+trace, "contains no stack frame")
	cacheSays(t, dir, exitError, "show Switches --trace "+trace+".none", "no such file")
}

func TestCacheVerifyFindsDamage(t *testing.T) {
	dir, key := cacheOfZoo(t)
	file := filepath.Join(dir, key.String()[:2], key.String()[2:])
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-1] ^= 1
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	cacheSays(t, dir, exitOK, "ls", "sonde cache verify")
	cacheSays(t, dir, exitError, "verify", "checksum is wrong", "1 entry is damaged")
	cacheSays(t, dir, exitError, "show "+key.String(), "checksum is wrong")
	cacheSays(t, dir, exitOK, "verify --drop --json", `"dropped":true`)
	cacheSays(t, dir, exitOK, "verify", "2 entries read")
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "12": 12, "64M": 64 << 20, "64 MiB": 64 << 20, "1g": 1 << 30, "3K": 3 << 10, "2T": 2 << 40, "7B": 7, "7kb": 7 << 10,
		"": -1, "M": -1, "-1": -1, "1.5G": -1, "9999999999G": -1, "1X": -1,
	} {
		got, ok := parseSize(text)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q is %d, not %d", text, got, want)
		}
	}
}
