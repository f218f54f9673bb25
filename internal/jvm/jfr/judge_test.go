package jfr

import (
	"encoding/json"
	"fmt"
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

// TestEventsAsTheJDKReadsThem compares a recording with every event on with what the JDK's
// own tool makes of it: how many of each type there are, and the values of samples. The
// fields of every event must be as long as the event.
func TestEventsAsTheJDKReadsThem(t *testing.T) {
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
				if !strings.Contains(samples, e.typ.name) {
					return
				}
				fields := map[string]any{}
				for f, v := range e.fields() {
					fields[f.name] = canonical(v)
				}
				fields["startTime"] = time.Unix(0, e.chunk.header.nanos(startOf(e))).UTC().Format(time.RFC3339Nano)
				ours[spell(e.typ.name, fields)]++
			})
			losses := slices.DeleteFunc(all.Losses, func(l Loss) bool { return l.Defect == LostSamples }) // by a busy JVM
			if err != nil || len(losses) > 0 {
				t.Fatalf("error %v, losses %v", err, losses)
			}
			compareCounts(t, jdk, path, counts)
			compareValues(t, jdk, path, ours)
			compareFile(t, jdk, path, all.Samples, counts)
		})
	}
}

// compareFile reads a recording as a file: it must have the same samples as its chunks, the waits that
// were recorded, and what the JVM recorded about itself.
func compareFile(t *testing.T, jdk jvmtest.JDK, path string, want []Sample, counts map[string]int) {
	t.Helper()
	var samples []Sample
	waits := map[Wait]int{}
	r, err := ReadFile(t.Context(), path, true, func(more []Sample) {
		for _, s := range more {
			if s.Source == WallClock {
				waits[s.Wait]++
			} else {
				samples = append(samples, s)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	inFile, inChunks := spellSamples(samples), spellSamples(want)
	if !slices.Equal(inFile, inChunks) {
		t.Errorf("the file has %d samples, its chunks %d, or some differ:\n%q\n%q", len(samples), len(want), inFile, inChunks)
	}
	for wait, event := range map[Wait]string{Monitor: "jdk.JavaMonitorEnter", Notification: "jdk.JavaMonitorWait", Parked: "jdk.ThreadPark", Sleeping: "jdk.ThreadSleep"} {
		if waits[wait] != counts[event] {
			t.Errorf("%d waits for %s, want the %d events %s", waits[wait], wait, counts[event], event)
		}
	}
	if r.PID == 0 || r.Main != "Busy" || !strings.HasPrefix(r.JDK, jdk.Version) || r.Period != 10*time.Millisecond || !r.From.Before(r.To) || len(r.Times) == 0 && counts["jdk.ThreadCPULoad"] > 0 {
		t.Errorf("the recording is %+v, want that of Busy on %s with a period of 10 ms", r, jdk.Version)
	}
	t.Logf("%d samples, waits %v, %d threads with times", len(samples), waits, len(r.Times))
}

// spellSamples writes samples as text, in an order that does not depend on when their stacks came.
func spellSamples(samples []Sample) (texts []string) {
	for _, s := range samples {
		texts = append(texts, spellSample(s))
	}
	slices.Sort(texts)
	return texts
}

// samples are the events whose values are compared.
const samples = "jdk.ExecutionSample,jdk.NativeMethodSample,jdk.CPUTimeSample"

func startOf(e event) int64 {
	for f, v := range e.fields() {
		if f.name == "startTime" {
			return v.int()
		}
	}
	return 0
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
	print := exec.CommandContext(t.Context(), jdk.Tool("jfr"), "print", "--json", "--events", samples, "--stack-depth", strconv.Itoa(judgedFrames), path)
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
		values, _ := canonicalJSON(event.Values).(map[string]any)
		at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(values["startTime"]))
		if err != nil {
			t.Fatal(err)
		}
		values["startTime"] = at.UTC().Format(time.RFC3339Nano)
		text := spell(event.Type, values)
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

// spell leaves out the period, whose unit the parser does not read.
func spell(name string, fields map[string]any) string {
	delete(fields, "samplingPeriod")
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
		return v.text()
	case kindBool:
		return v.bool()
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
	return strconv.FormatInt(v.int(), 10)
}

func canonicalJSON(v any) any {
	switch v := v.(type) {
	case json.Number:
		return v.String()
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
		period := "everyChunk" // at its begin and its end: the program may end before any time has passed
		switch {
		case strings.HasSuffix(name, "Sample"):
			period = "10 ms"
		case name == "jdk.ThreadCPULoad":
			period = "500 ms"
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
