package report

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/report/diff"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/reporttest"
	"github.com/sonde-jvm/sonde/internal/report/text"
)

func TestFormatByName(t *testing.T) {
	dir := t.TempDir()
	for name, begin := range map[string]string{
		"a.html": "<!doctype html>", "y.PB.GZ": "\x1f\x8b", "a.b.collapsed": "com.example.shop.Checkout.pay", "a.json": `{"format":"sonde-profile"`, ".txt": "shop.jar (process 4711",
	} {
		path := filepath.Join(dir, name)
		err := Profiles.WriteFile(path, reporttest.Shop(1))
		if got, _ := os.ReadFile(path); err != nil || !bytes.HasPrefix(got, []byte(begin)) {
			t.Errorf("%s: %v: begins with %.40q", name, err, got)
		}
	}
	var unknown *FormatError
	if err := Profiles.WriteFile(filepath.Join(t.TempDir(), "a.svg"), reporttest.Shop(1)); !errors.As(err, &unknown) || !strings.Contains(err.Error(), ".html, .pb.gz, .collapsed, .otlp.json, .json or .txt") {
		t.Errorf("an unknown end: %v", err)
	}
}

// TestProfilesAreReadBack writes each format that can be read and compares.
func TestProfilesAreReadBack(t *testing.T) {
	want := reporttest.Shop(1)
	for _, name := range []string{"a.json", "a.html"} {
		path := filepath.Join(t.TempDir(), name)
		if err := Profiles.WriteFile(path, want); err != nil {
			t.Fatal(err)
		}
		got, err := ReadProfile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: came back different", name)
		}
	}
}

// TestHotSpotsAreReadBack writes hot spots in each format that can be read, and compares what all formats show of
// them.
func TestHotSpotsAreReadBack(t *testing.T) {
	for _, wall := range []bool{false, true} {
		want := reporttest.HotSpots()
		want.Wall = wall
		for _, name := range []string{"a.json", "a.html"} {
			path := filepath.Join(t.TempDir(), name)
			if err := HotSpots.WriteFile(path, want); err != nil {
				t.Fatal(err)
			}
			got, err := ReadHotSpots(t.Context(), path, false)
			if err != nil {
				t.Fatal(err)
			}
			for _, suffix := range HotSpots.Suffixes() {
				if !bytes.Equal(written(t, suffix, want), written(t, suffix, got)) {
					t.Errorf("%s, wall %v: %s came back different", name, wall, suffix)
				}
			}
			if _, err := ReadProfile(path); err == nil || !strings.Contains(err.Error(), "hot spots, not a profile") {
				t.Errorf("%s is read as a profile: %v", name, err)
			}
		}
	}
}

func written(t *testing.T, suffix string, r *hotspots.Result) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a"+suffix)
	if err := HotSpots.WriteFile(path, r); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestCollapsed(t *testing.T) {
	var out bytes.Buffer
	if err := text.WriteCollapsed(&out, reporttest.Shop(1)); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "shop.collapsed", out.Bytes())
}

func TestHotSpotsByName(t *testing.T) {
	dir := t.TempDir()
	for name, begin := range map[string]string{
		"a.html": "<!doctype html>", "a.pb.gz": "\x1f\x8b", "a.collapsed": "java.lang.Thread.run;", "a.json": `{"format":"sonde-hot"`, "a.txt": " SELF",
	} {
		path := filepath.Join(dir, name)
		err := HotSpots.WriteFile(path, reporttest.HotSpots())
		if got, _ := os.ReadFile(path); err != nil || !bytes.HasPrefix(got, []byte(begin)) {
			t.Errorf("%s: %v: begins with %.40q", name, err, got)
		}
	}
	collapsed, err := os.ReadFile(filepath.Join(dir, "a.collapsed"))
	if err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "hot.collapsed", collapsed)
}

func TestPProfIsReadBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.pb.gz")
	want := reporttest.Shop(1)
	if err := Profiles.WriteFile(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadProfile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := compare(want, got); slicesAnySure(d.Contexts) || len(d.Contexts) != 6 || len(d.Uncompared) != 1 || d.Before.Calls != d.After.Calls {
		t.Errorf("read back it differs: %+v", d.Contexts)
	}
}

func slicesAnySure(list []diff.Change) bool {
	for _, c := range list {
		if c.Verdict != diff.Same && c.Verdict != diff.Untimed {
			return true
		}
	}
	return false
}

// TestGoToolPProf makes go tool pprof read the file: counts must be exact.
func TestGoToolPProf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.pb.gz")
	if err := Profiles.WriteFile(path, reporttest.Shop(1)); err != nil {
		t.Fatal(err)
	}
	for index, rows := range map[string][]string{
		"calls": {" 1500000 82.64%", "method #77\n", " 300000 ", " 6000 ", " 90 "},
		"self":  {"1350ms 59.60%", "java.net.SocketInputStream.socketRead0\n"},
	} {
		command := exec.Command("go", "tool", "pprof", "-top", "-nodefraction=0", "-sample_index="+index, path)
		command.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("go tool pprof: %v\n%s", err, out)
		}
		for _, row := range rows {
			if !strings.Contains(string(out), row) {
				t.Errorf("%s: %q is missing:\n%s", index, row, out)
			}
		}
	}
}

func TestOtherFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string]string{
		"a.json": `{"a":1}`, "b.json": `[`, "c.json": `{"format":"sonde-profile","version":9}`,
		"d.json": `{"format":"sonde-profile","version":1,"merged":[{"parent":-1,"method":-1,"calls":0},{"parent":1,"method":0,"calls":0}]}`,
		"e.html": "<html>", "f.pb.gz": "no", "g.json": `{"format":"sonde-hot","version":1}`,
		"h.json": `{"format":"sonde-hot","version":1,"tree":{"methods":[],"nodes":[{"parent":-1,"method":-1},{"parent":0,"method":0}]}}`,
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadProfile(path); err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	var version *document.VersionError
	if _, err := ReadProfile(filepath.Join(dir, "c.json")); !errors.As(err, &version) {
		t.Error("a newer version is not named")
	}
	if _, err := ReadProfile(filepath.Join(dir, "a.txt")); err == nil || !strings.Contains(err.Error(), ".json, .html, .pb.gz or .jfr") {
		t.Errorf("text cannot be read back: %v", err)
	}
}

// TestDeepTreesAreWritten uses the maximum depth of the arena.
// TestOtherKindsAreNamed: a file with a result of another command is refused by its format, whatever else it has.
func TestOtherKindsAreNamed(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	for text, want := range map[string]string{
		`{"format":"sonde-trace","version":1,"methods":["a.B.c"]}`:       " is a result of sonde trace; ",
		`{"format":"sonde-climb"}`:                                       " is a result of sonde walk; ",
		"{\"format\":\"sonde-monitor\"}\n{\"format\":\"sonde-monitor\"}": " is a result of sonde monitor; ",
		`{"a":1}`: ": it has no result of Sonde: name a file that sonde profile or sonde hot has written with -o",
		"[1]":     ": it has no result of Sonde: ",
	} {
		path := filepath.Join(dir, "result.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, profile := ReadProfile(path)
		_, hot := ReadHotSpots(ctx, path, false)
		_, either := ReadFile(ctx, path, false)
		for _, err := range []error{profile, hot, either} {
			if err == nil || !strings.HasPrefix(err.Error(), path+want) || strings.Contains(err.Error(), "json: cannot") {
				t.Errorf("%s: %v, want %s%s", text, err, path, want)
			}
		}
		if strings.Contains(want, "result of sonde") && !strings.Contains(profile.Error(), "; diff compares profiles") {
			t.Errorf("%v", profile)
		}
	}
}

func TestDeepTreesAreWritten(t *testing.T) {
	var n *cct.Node
	for range 4096 {
		n = &cct.Node{Method: 0, Calls: 1, Timed: 1, Self: cct.Time{Nanos: 100, Low: 100, High: 100}, Children: nonNil(n)}
	}
	p := &cct.Profile{Methods: []cct.Method{{Class: "A", Name: "a", Descriptor: "()V"}}, Merged: &cct.Node{Method: -1, Children: nonNil(n)}}
	reporttest.SumUp(p.Merged)
	var out bytes.Buffer
	if err := document.Write(&out, document.NewProfile(p)); err != nil {
		t.Fatal(err)
	}
	back, err := document.ReadProfile(&out)
	if err != nil || !reflect.DeepEqual(back, p) {
		t.Errorf("a deep tree came back different: %v", err)
	}
}

func nonNil(n *cct.Node) []*cct.Node {
	if n == nil {
		return nil
	}
	return []*cct.Node{n}
}
