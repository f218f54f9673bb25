package cache

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// benchClasses are classes of java.base that have code, one in some.
func benchClasses(b *testing.B) (classes [][]byte) {
	b.Helper()
	jdks := jvmtest.Installed()
	if len(jdks) == 0 {
		b.Skip("NOT MEASURED: no JDK is installed")
	}
	image, err := jimage.Open(jdks[0].Image())
	if err != nil {
		b.Skip("NOT MEASURED: ", err)
	}
	defer image.Close()
	w, pick := newWeaver(b)
	n := 0
	err = image.Each(func(module, path string, data []byte) error {
		if module != "java.base" || !strings.HasSuffix(path, ".class") {
			return nil
		}
		if n++; n%12 != 0 {
			return nil
		}
		if r, err := w.Weave(data, pick); err == nil && r.Bytes != nil {
			classes = append(classes, bytes.Clone(data))
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	slices.SortFunc(classes, func(a, b []byte) int { return len(a) - len(b) })
	return classes
}

// BenchmarkBesideWeaving puts a hit, as a command has it (the key made, the file read
// and checked, the result told), beside weaving the same classes again: all methods,
// and one in each. A fifth of the classes at a time, by size.
func BenchmarkBesideWeaving(b *testing.B) {
	classes := benchClasses(b)
	live, _ := agent.LiveTemplate()
	recipe := NewRecipe("bench", live)
	d := openDisk(b, Options{})
	w, pick := newWeaver(b)
	w.Identify = weave.MethodID // sessions have one of their own, which knows them by name
	one := func() func(weave.MethodInfo) []*weave.Template {
		isFirst := true
		return func(m weave.MethodInfo) []*weave.Template {
			if !m.HasCode || !isFirst {
				return nil
			}
			isFirst = false
			return pick(m)
		}
	}
	for i, class := range classes {
		for spec, pick := range map[string]func(weave.MethodInfo) []*weave.Template{"all": pick, "one": one()} {
			result, err := w.Weave(class, pick)
			if err != nil {
				b.Fatal(err)
			}
			o := OriginalOf(class)
			entry := NewEntry(Weaving{Class: fmt.Sprint("bench/", i), Original: o, Engine: "bench", Made: time.Now(), Result: result})
			if err := d.Put(b.Context(), recipe.Key(o, spec), entry); err != nil {
				b.Fatal(err)
			}
		}
	}
	hit := func(b *testing.B, class []byte, spec string) {
		e, err := d.Get(b.Context(), recipe.Key(OriginalOf(class), spec))
		if err != nil || !e.Fits(weave.MethodID) || len(e.Result().Bytes) == 0 {
			b.Fatal(err)
		}
	}
	for part := range 5 {
		some := classes[part*len(classes)/5 : (part+1)*len(classes)/5]
		total := 0
		for _, class := range some {
			total += len(class)
		}
		name := fmt.Sprintf("%dB/", total/len(some))
		for _, way := range []struct {
			name string
			do   func(b *testing.B, class []byte)
		}{
			{"all-weave", func(b *testing.B, class []byte) { weaveAgain(b, w, class, pick) }},
			{"all-hit", func(b *testing.B, class []byte) { hit(b, class, "all") }},
			{"one-weave", func(b *testing.B, class []byte) { weaveAgain(b, w, class, one()) }},
			{"one-hit", func(b *testing.B, class []byte) { hit(b, class, "one") }},
		} {
			b.Run(name+way.name, func(b *testing.B) {
				i, before := 0, processorTime(b)
				for b.Loop() {
					way.do(b, some[i%len(some)])
					i++
				}
				b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

// processorTime is what this process has taken of it. It says the same on a busy machine
// as on a quiet one, but for what the caches of the processor lose.
func processorTime(b *testing.B) int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now); err != nil {
		b.Fatal(err)
	}
	return now.Nano()
}

func weaveAgain(b *testing.B, w *weave.Weaver, class []byte, pick func(weave.MethodInfo) []*weave.Template) {
	if _, err := w.Append(nil, class, pick); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkPut keeps entries of about the size that classes have.
func BenchmarkPut(b *testing.B) {
	d := openDisk(b, Options{})
	samples := make([]*Entry, 64)
	for n := range samples {
		samples[n] = sampleEntry(n)
	}
	for shard := range 256 { // only new caches lack them
		if err := d.createShard(byte(shard)); err != nil {
			b.Fatal(err)
		}
	}
	n, before := 0, processorTime(b)
	for b.Loop() {
		if err := d.Put(b.Context(), sampleKey(n), samples[n%len(samples)]); err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// BenchmarkDeflated is what it would cost to have entries smaller.
func BenchmarkDeflated(b *testing.B) {
	classes := benchClasses(b)
	class := classes[len(classes)/2]
	var packed bytes.Buffer
	to, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := to.Write(class); err != nil {
		b.Fatal(err)
	}
	if err := to.Close(); err != nil {
		b.Fatal(err)
	}
	from := flate.NewReader(nil)
	before := processorTime(b)
	for b.Loop() {
		if err := from.(flate.Resetter).Reset(bytes.NewReader(packed.Bytes()), nil); err != nil {
			b.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, from); err != nil || int(n) != len(class) {
			b.Fatal(n, err)
		}
	}
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(packed.Len())/float64(len(class)), "of-size")
}
