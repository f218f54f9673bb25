package cost

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/perfdata"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// ErrGone is returned for a JVM that has ended.
var ErrGone = errors.New("the JVM has ended")

// A Meter reads what one JVM has gone through. It is not for concurrent use.
type Meter struct {
	host     process.Host
	jvm      *process.JVM
	counters *os.File // nil where there are none
	census   census
}

// Watch prepares to read. It does not fail: what cannot be read is not known.
func Watch(jvm *process.JVM) *Meter { return watch(process.Local, jvm) }

func watch(host process.Host, jvm *process.JVM) *Meter {
	m := &Meter{host: host, jvm: jvm}
	m.counters, _ = openCounters(host, jvm) // not known then, and said so by each reading
	return m
}

// Close lets go of the JVM's counters.
func (m *Meter) Close() {
	if m.counters != nil {
		_ = m.counters.Close()
		m.counters = nil
	}
}

// Read tells where the JVM stands now. Its only error is ErrGone. It takes less
// than a millisecond; the first few some ten microseconds for each of the JVM's
// threads besides.
func (m *Meter) Read() (Reading, error) {
	var r Reading
	m.readCounters(&r)
	// Pauses are what one wants to be exact about, so theirs is the time.
	r.At = time.Now()
	process := filepath.Join(m.host.Proc, strconv.Itoa(m.jvm.PID))
	if threads, err := m.census.read(process); err == nil {
		r.threads = threads
		for _, t := range threads {
			r.Known.Compilers = r.Known.Compilers || t.role == compiler
			r.Known.VMThread = r.Known.VMThread || t.role == vmThread
		}
	}
	if line, err := os.ReadFile(filepath.Join(process, "stat")); err == nil {
		if s, err := parseStat(line); err == nil {
			r.process, r.Known.Process = s.cpu, true
		}
	}
	// Asked last, so that nothing above is of a later process of this number.
	if !m.host.Same(m.jvm) {
		return Reading{}, fmt.Errorf("process %d: %w", m.jvm.PID, ErrGone)
	}
	return r, nil
}

func (m *Meter) readCounters(r *Reading) {
	if m.counters == nil {
		return
	}
	// What stands before a defect is true: entries are only ever added.
	found, _ := perfdata.Read(io.NewSectionReader(m.counters, 0, perfdata.MaxSize))
	if found == nil {
		return
	}
	r.counters, r.Known.Pauses, r.Known.Compiles = countersFrom(found)
}
