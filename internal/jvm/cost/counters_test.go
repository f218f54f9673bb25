package cost

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/perfdata"
)

// published is the file of a JVM with these counters, as package hsperf draws
// it.
func published(t *testing.T, numbers map[string]int64) *perfdata.Counters {
	t.Helper()
	const header, entry = 32, 20
	little := binary.LittleEndian
	data := make([]byte, header)
	copy(data, []byte{0xca, 0xfe, 0xc0, 0xc0, 1, 2, 0, 1})
	for name, n := range numbers {
		valueAt := (entry + len(name) + 1 + 7) / 8 * 8
		e := make([]byte, valueAt+8)
		little.PutUint32(e[0:], uint32(len(e)))
		little.PutUint32(e[4:], entry)
		e[12] = 'J'
		little.PutUint32(e[16:], uint32(valueAt))
		copy(e[entry:], name)
		little.PutUint64(e[valueAt:], uint64(n))
		data = append(data, e...)
	}
	little.PutUint32(data[8:], uint32(len(data)))
	little.PutUint32(data[24:], header)
	little.PutUint32(data[28:], uint32(len(numbers)))
	c, err := perfdata.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCounters(t *testing.T) {
	numbers := map[string]int64{
		"sun.os.hrt.frequency": 1_000_000, // ticks of a microsecond
		"sun.rt.safepoints":    3, "sun.rt.safepointTime": 5000, "sun.rt.safepointSyncTime": 2000,
		"sun.ci.totalCompiles": 7, "java.ci.totalTime": 9000,
	}
	got, pauses, compiles := countersFrom(published(t, numbers))
	want := counters{safepoints: 3, pause: 7 * time.Millisecond, sync: 2 * time.Millisecond, compiles: 7, compileTime: 9 * time.Millisecond}
	if got != want || !pauses || !compiles {
		t.Errorf("%+v, %v, %v", got, pauses, compiles)
	}
	for missing, still := range map[string][2]bool{
		"sun.os.hrt.frequency": {false, false}, "sun.rt.safepointSyncTime": {false, true}, "java.ci.totalTime": {true, false},
	} {
		fewer := map[string]int64{}
		for name, n := range numbers {
			if name != missing {
				fewer[name] = n
			}
		}
		if _, pauses, compiles := countersFrom(published(t, fewer)); pauses != still[0] || compiles != still[1] {
			t.Errorf("without %s: %v, %v", missing, pauses, compiles)
		}
	}
}
