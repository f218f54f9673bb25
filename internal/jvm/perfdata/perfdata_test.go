package perfdata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// file builds the content of a file: the independent half of the round trip.
type file struct {
	order   orders
	entries [][]byte
}

func (f *file) add(kind byte, name string, elements int, value []byte) {
	f.entries = append(f.entries, f.entry(kind, name, elements, value))
}

func (f *file) entry(kind byte, name string, elements int, value []byte) []byte {
	valueAt := (entryHeaderSize + len(name) + 1 + 7) / 8 * 8
	length := (valueAt + len(value) + 7) / 8 * 8
	e := make([]byte, length)
	f.order.PutUint32(e[0:], uint32(length))
	f.order.PutUint32(e[4:], entryHeaderSize)
	f.order.PutUint32(e[8:], uint32(elements))
	e[12] = kind
	f.order.PutUint32(e[16:], uint32(valueAt))
	copy(e[entryHeaderSize:], name)
	copy(e[valueAt:], value)
	return e
}

func (f *file) number(name string, n int64) {
	f.add(typeLong, name, 0, f.order.AppendUint64(nil, uint64(n)))
}

func (f *file) text(name, value string) {
	f.add(typeByte, name, len(value)+1, append([]byte(value), 0))
}

func (f *file) bytes() []byte {
	h := make([]byte, headerSize)
	copy(h, magic[:])
	if f.order == binary.LittleEndian {
		h[4] = 1
	}
	h[5], h[7] = majorVersion, 1
	body := bytes.Join(f.entries, nil)
	f.order.PutUint32(h[8:], uint32(headerSize+len(body)))
	f.order.PutUint32(h[24:], headerSize)
	f.order.PutUint32(h[28:], uint32(len(f.entries)))
	return append(append(h, body...), make([]byte, 64)...)
}

func (f *file) uint32At(data []byte, at int, value uint32) []byte {
	data = bytes.Clone(data)
	f.order.PutUint32(data[at:], value)
	return data
}

type orders interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

func sample(order orders) *file {
	f := &file{order: order}
	f.number("sun.rt.createVmBeginTime", 1700000000123)
	f.text("java.property.java.version", "17.0.15")
	f.text("java.rt.vmArgs", "-Xmx200m -ea")
	f.text("sun.rt.jvmCapabilities", "1100")
	f.text("sun.gc.policy.name", "Copy:MSC")
	f.number("sun.gc.generation.0.maxCapacity", 1<<20)
	f.number("sun.gc.generation.0.space.0.used", 10)
	f.number("sun.gc.generation.1.maxCapacity", 2<<20)
	f.number("sun.gc.generation.1.space.0.used", 5)
	f.add('I', "other", 0, []byte{1, 2, 3, 4})
	return f
}

func TestParse(t *testing.T) {
	for _, order := range []orders{binary.LittleEndian, binary.BigEndian} {
		c, err := Read(bytes.NewReader(sample(order).bytes()))
		if err != nil {
			t.Fatalf("%v: %v", order, err)
		}
		if len(c.numbers)+len(c.texts) != 9 {
			t.Errorf("%v: %d counters", order, len(c.numbers)+len(c.texts))
		}
		if v := c.Text("java.property.java.version"); v != "17.0.15" {
			t.Errorf("%v: version %q", order, v)
		}
		if s, ok := c.Number("sun.rt.createVmBeginTime"); !ok || s != 1700000000123 {
			t.Errorf("%v: started %v, %v", order, s, ok)
		}
		if a, complete := c.Arguments(); a != "-Xmx200m -ea" || !complete {
			t.Errorf("%v: arguments %q, %v", order, a, complete)
		}
		if enabled, known := c.AttachEnabled(); !enabled || !known {
			t.Errorf("%v: attach %v, %v", order, enabled, known)
		}
		if used, limit := c.Heap(); used != 15 || limit != 3<<20 {
			t.Errorf("%v: heap %d of %d", order, used, limit)
		}
	}
}

func TestDefects(t *testing.T) {
	f := sample(binary.LittleEndian)
	good := f.bytes()
	second := headerSize + len(f.entries[0]) // where the second entry begins
	starting := bytes.Clone(good)
	starting[7] = 0
	for _, tt := range []struct {
		name   string
		data   []byte
		detail string
		kept   int // counters before the defect
	}{
		{"empty", nil, "ends after 0 of 32", 0},
		{"cut in the header", good[:31], "ends after 31 of 32", 0},
		{"no magic", make([]byte, 100), "magic", 0},
		{"byte order", append([]byte{0xca, 0xfe, 0xc0, 0xc0, 7}, good[5:]...), "byte order 7", 0},
		{"version", append([]byte{0xca, 0xfe, 0xc0, 0xc0, 1, 1}, good[6:]...), "version 1.0", 0},
		{"entries in the header", f.uint32At(good, 24, 8), "begin at 8", 0},
		{"entries beyond the end", f.uint32At(good, 24, 1<<31), "outside", 0},
		{"too many entries", f.uint32At(good, 28, 1<<32-1), "do not fit", 0},
		{"one entry more than there are", f.uint32At(f.uint32At(good, 28, 11), 8, 1<<30), "length 0", 9},
		{"entry not yet filled", f.uint32At(good, second, 0), "length 0", 1},
		{"entry of no end", f.uint32At(good, second, 1<<32-1), "length 4294967295", 1},
		{"name outside", f.uint32At(good, second+4, 1<<20), "name at", 1},
		{"name empty", f.uint32At(good, second+4, uint32(len(f.entries[1])-1)), "name is empty", 1},
		{"value outside", f.uint32At(good, second+16, 1<<32-1), "outside the entry", 1},
		{"text of no end", f.uint32At(good, second+8, 1<<32-1), "outside the entry", 1},
		{"still starting", starting, "not yet usable", 9},
		{"cut in an entry", good[:second+10], "do not fit", 0},
	} {
		c, err := Parse(tt.data)
		var bad *FormatError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), tt.detail) {
			t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.detail)
			continue
		}
		kept := 0
		if c != nil {
			kept = len(c.numbers) + len(c.texts)
		}
		if kept != tt.kept {
			t.Errorf("%s: %d counters kept, want %d", tt.name, kept, tt.kept)
		}
	}
}

func TestHugeFileIsRefused(t *testing.T) {
	_, err := Read(endless{})
	var bad *FormatError
	if !errors.As(err, &bad) {
		t.Errorf("error %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func FuzzParse(f *testing.F) {
	f.Add(sample(binary.LittleEndian).bytes())
	f.Add(sample(binary.BigEndian).bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data)
		var bad *FormatError
		if err != nil && !errors.As(err, &bad) {
			t.Fatalf("an error that is no FormatError: %v", err)
		}
		if err == nil && c == nil {
			t.Fatal("neither counters nor an error")
		}
		if c == nil {
			return
		}
		size := 0
		for name, text := range c.texts {
			size += entryHeaderSize + len(name) + len(text)
		}
		for name := range c.numbers {
			size += entryHeaderSize + len(name) + 8
		}
		// Counters overlap in the files of liars, by name with value at most.
		if size > 2*len(data) {
			t.Fatalf("%d bytes of counters out of %d", size, len(data))
		}
		if used, limit := c.Heap(); used < 0 || limit < 0 {
			t.Fatalf("heap %d of %d", used, limit)
		}
	})
}

func TestLive(t *testing.T) {
	collectors := []string{"Serial", "Parallel", "G1", "Z"}
	for _, jdk := range jvmtest.JDKs(t) {
		for i, gc := range collectors {
			if !jvmtest.Turn(t, jdk, i, len(collectors)) {
				continue
			}
			t.Run(fmt.Sprintf("jdk%d/%s", jdk.Major, gc), func(t *testing.T) {
				classpath, mainClass := jvmtest.Waiting(t, jdk)
				jvm := jvmtest.Start(t, jdk, jvmtest.Launch{
					Args: []string{"-XX:+Use" + gc + "GC", "-Xmx128m", "-cp", classpath, mainClass, "an argument"},
				})
				checkLive(t, jdk, jvm.PID)
			})
		}
	}
}

func checkLive(t *testing.T, jdk jvmtest.JDK, pid int) {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join("/tmp", "hsperfdata_*", strconv.Itoa(pid)))
	if len(found) != 1 {
		t.Fatalf("files of process %d: %v", pid, found)
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if c.Text("java.property.java.version") != jdk.Version || c.Text("java.property.java.vm.name") == "" || c.Text("java.property.java.vm.vendor") == "" || c.Text("java.rt.vmFlags") != "" {
		t.Errorf("JDK %q, %q, %q, flags %q; want version %s", c.Text("java.property.java.version"), c.Text("java.property.java.vm.name"), c.Text("java.property.java.vm.vendor"), c.Text("java.rt.vmFlags"), jdk.Version)
	}
	if c.Text("sun.rt.javaCommand") != "Waiting an argument" {
		t.Errorf("command %q", c.Text("sun.rt.javaCommand"))
	}
	if a, complete := c.Arguments(); !strings.Contains(a, "-Xmx128m") || !complete {
		t.Errorf("arguments %q, %v", a, complete)
	}
	if enabled, known := c.AttachEnabled(); !enabled || !known {
		t.Errorf("attach %v, %v", enabled, known)
	}
	if _, ok := c.Number("sun.rt.createVmBeginTime"); !ok {
		t.Error("no start time")
	}
	// Serial and Parallel round generations up by parts of a megabyte.
	if used, limit := c.Heap(); limit < 127<<20 || limit > 129<<20 || used > limit {
		t.Errorf("heap %d of %d", used, limit)
	}
}
