package jfr

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// judgedFrames is how many frames of each stack are compared.
const judgedFrames = 3

// TestEveryEventAsTheJDKReadsIt compares a recording with every event on with
// what the JDK's own tool makes of it: how many of each type, and all values.
func TestEveryEventAsTheJDKReadsIt(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			path := record(t, jdk, 150)
			counts := map[string]int{}
			ours := map[string]int{}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all, err := readChunks(data, func(e event) {
				counts[e.typ.name]++
				if err := e.check(); err != nil {
					t.Error(err)
				}
				fields := map[string]any{}
				for f, v := range e.fields() {
					fields[f.name] = canonical(v)
				}
				ours[spell(e.typ.name, fields)]++
			})
			losses := slices.DeleteFunc(all.Losses, func(l Loss) bool { return l.Defect == LostSamples }) // by a busy JVM
			if err != nil || len(losses) > 0 {
				t.Fatalf("error %v, losses %v", err, losses)
			}
			compareCounts(t, jdk, path, counts)
			compareValues(t, jdk, path, ours)
		})
	}
}

var summaryLine = regexp.MustCompile(`(?m)^ (\S+\.\S+) +(\d+) +\d+ *$`)

func compareCounts(t *testing.T, jdk jvmtest.JDK, path string, counts map[string]int) {
	t.Helper()
	types, events := 0, 0
	for _, m := range summaryLine.FindAllStringSubmatch(jvmtest.RunTool(t, jdk, "jfr", "summary", path).Stdout, -1) {
		want, _ := strconv.Atoi(m[2])
		if strings.EqualFold(m[1], "jdk.CheckPoint") || m[1] == "jdk.Metadata" {
			continue // part of the format, no events
		}
		if counts[m[1]] != want {
			t.Errorf("%d events %s, the JDK counts %d", counts[m[1]], m[1], want)
		}
		if want > 0 {
			types++
			events += want
		}
	}
	// How many there are depends on what the JVM comes to do: 61 to 115 were seen.
	if types < 50 || types != len(counts) {
		t.Errorf("%d types of events, the JDK counts %d; want as many, and 50 at least", len(counts), types)
	}
	t.Logf("%d events of %d types", events, types)
}

// compareValues compares events as sets: the tool sorts them by their end.
func compareValues(t *testing.T, jdk jvmtest.JDK, path string, ours map[string]int) {
	t.Helper()
	print := exec.CommandContext(t.Context(), jdk.Tool("jfr"), "print", "--json", "--stack-depth", strconv.Itoa(judgedFrames), path)
	print.Stderr = os.Stderr
	out, err := print.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := print.Start(); err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(out)
	decoder.UseNumber()
	for range 5 { // { "recording" : { "events" : [
		if _, err := decoder.Token(); err != nil {
			t.Fatal(err)
		}
	}
	wrong := 0
	for decoder.More() {
		var event struct {
			Type   string
			Values map[string]any
		}
		if err := decoder.Decode(&event); err != nil {
			t.Fatal(err)
		}
		text := spell(event.Type, canonicalJSON(event.Values))
		if ours[text] == 0 {
			if wrong++; wrong <= 5 {
				t.Errorf("the JDK has an event that we do not have:\n%s\nours of that time: %s", text, similar(ours, text))
			}
			continue
		}
		ours[text]--
	}
	if err := print.Wait(); err != nil {
		t.Fatal(err)
	}
	if wrong > 0 {
		t.Errorf("%d events differ", wrong)
	}
}

func spell(name string, fields any) string {
	text, err := json.Marshal(fields)
	if err != nil {
		return err.Error()
	}
	return name + string(text)
}

// similar finds what is most like a text, to show what differs.
func similar(ours map[string]int, text string) string {
	best, length := "", -1
	for candidate, n := range ours {
		common := 0
		for common < min(len(candidate), len(text)) && candidate[common] == text[common] {
			common++
		}
		if n > 0 && common > length {
			best, length = candidate, common
		}
	}
	return best
}

// canonical makes of a value what canonicalJSON makes of the tool's.
func canonical(v value) any {
	switch v.realKind() {
	case kindNull:
		return nil
	case kindString:
		return canonicalText(v.text())
	case kindBool:
		return v.bool()
	case kindFloat, kindDouble:
		return canonicalFloat(v.float())
	case kindChar:
		return string(rune(v.int()))
	case kindArray:
		elements := []any{}
		for e := range v.elements() {
			if v.field.typ.name == "jdk.types.StackFrame" && len(elements) == judgedFrames {
				break
			}
			elements = append(elements, canonical(e))
		}
		return elements
	case kindStruct:
		fields := map[string]any{}
		for f, field := range v.members() {
			fields[f.name] = canonical(field)
		}
		return fields
	}
	switch unit := v.resolve().unit(); {
	case strings.HasPrefix(unit, timestamp):
		return instant(v.resolve().time())
	case strings.HasPrefix(unit, timespan):
		return span(v.resolve().duration())
	}
	return strconv.FormatInt(v.int(), 10)
}

func canonicalJSON(v any) any {
	switch v := v.(type) {
	case string:
		return canonicalText(v)
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return strconv.FormatInt(n, 10)
		}
		if n, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return strconv.FormatInt(int64(n), 10) // an unsigned field, of which we have the bits
		}
		f, err := v.Float64()
		if err != nil {
			return err.Error()
		}
		return canonicalFloat(f)
	case []any:
		for i := range v {
			v[i] = canonicalJSON(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = canonicalJSON(v[name])
		}
	}
	return v
}

// canonicalFloat makes floats of doubles: the tool does not say which it prints.
func canonicalFloat(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return strconv.FormatFloat(float64(float32(f)), 'g', -1, 32)
}

var (
	duration = regexp.MustCompile(`^PT(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?[\d.]+)S)?$`)
	layouts  = []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00"}
)

// canonicalText tells times and durations, which the tool prints as texts.
func canonicalText(s string) any {
	if s == "-999999999-01-01T00:00+18:00" {
		return instant(time.Time{}) // the least that the tool can print
	}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, s); err == nil {
			return instant(at)
		}
	}
	if m := duration.FindStringSubmatch(s); m != nil {
		var total time.Duration
		for i, unit := range []string{"h", "m", "s"} {
			if m[i+1] == "" {
				continue
			}
			d, err := time.ParseDuration(m[i+1] + unit)
			if err != nil {
				return "for ever"
			}
			total += d
		}
		return span(total)
	}
	return s
}

func instant(at time.Time) any { return "at " + at.UTC().Format(time.RFC3339Nano) }

func span(d time.Duration) any {
	if d == math.MinInt64 || d == math.MaxInt64 {
		return "for ever"
	}
	return "for " + d.String()
}

func TestJudgeReadsDurations(t *testing.T) {
	var got []any
	for _, s := range []string{"PT0S", "PT1H2M3.000000004S", "PT-0.5S", "PT"} {
		got = append(got, canonicalText(s))
	}
	if want := []any{"for 0s", "for 1h2m3.000000004s", "for -500ms", "for 0s"}; !slices.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
}

// compileBusy compiles the program that is recorded.
func compileBusy(t testing.TB, jdk jvmtest.JDK) string {
	t.Helper()
	return jvmtest.Compile(t, jdk, jvmtest.Fixture{
		Sources: []string{filepath.Join("testdata", "Busy.java")}, Flags: []string{"--release", "17"},
	})
}

var (
	named    = regexp.MustCompile(`^@Name\("([^"]+)"\)`)
	declared = regexp.MustCompile(`^class \S+ extends jdk\.jfr\.Event`)
)

// allEvents writes settings that turn on every event the JDK has.
func allEvents(t testing.TB, jdk jvmtest.JDK) string {
	t.Helper()
	out := jvmtest.RunTool(t, jdk, "jfr", "metadata")
	var names []string
	name := ""
	for line := range strings.Lines(out.Stdout) {
		if m := named.FindStringSubmatch(line); m != nil {
			name = m[1]
		}
		if declared.MatchString(line) {
			names = append(names, name)
		}
	}
	if len(names) < 100 {
		t.Fatalf("jfr metadata names %d events, want more than a hundred: %s", len(names), out.Stderr)
	}
	var settings strings.Builder
	settings.WriteString(`<?xml version="1.0" encoding="UTF-8"?><configuration version="2.0">` + "\n")
	for _, name := range names {
		period := "500 ms"
		if strings.HasSuffix(name, "Sample") {
			period = "10 ms"
		}
		fmt.Fprintf(&settings, `<event name="%s"><setting name="enabled">true</setting>`+
			`<setting name="threshold">0 ns</setting><setting name="stackTrace">true</setting>`+
			`<setting name="period">%s</setting><setting name="throttle">%s</setting></event>`+"\n", name, period, throttle(name))
	}
	settings.WriteString("</configuration>\n")
	path := filepath.Join(t.TempDir(), "all.jfc")
	if err := os.WriteFile(path, []byte(settings.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// throttle leaves no event out, but samples of processor time need a rate.
func throttle(name string) string {
	if name == "jdk.CPUTimeSample" {
		return "10ms"
	}
	return "off"
}

// record runs the program for some rounds with every event on.
func record(t testing.TB, jdk jvmtest.JDK, rounds int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "all.jfr")
	out := jvmtest.Run(t, jdk, "-Xmx200m", "-cp", compileBusy(t, jdk),
		"-XX:StartFlightRecording=filename="+path+",settings="+allEvents(t, jdk), "Busy", fmt.Sprint(rounds))
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("no recording: %v\n%s%s", err, out.Stdout, out.Stderr)
	}
	return path
}
