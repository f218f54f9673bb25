package cost

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/perfdata"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// counters are those of a JVM's published ones that tell of pauses and of
// compilations.
type counters struct {
	safepoints  int64
	pause, sync time.Duration
	compiles    int64
	compileTime time.Duration
}

// countersFrom picks them out. Times are in ticks of the JVM's clock.
//
// A safepoint is counted when it begins, the wait until all threads stand still
// when they do, the rest when it ends; a compilation and its time when it ends.
// That the two times add up to what -Xlog:safepoint calls the total was tried on
// JDK 17 and 25. JDK 8 is said to have the wait in both: its pauses would be
// told too long by the wait.
func countersFrom(c *perfdata.Counters) (found counters, pauses, compiles bool) {
	frequency, ok := c.Number("sun.os.hrt.frequency")
	if !ok || frequency <= 0 {
		return counters{}, false, false
	}
	whole := true
	number := func(name string) int64 {
		n, ok := c.Number(name)
		whole = whole && ok && n >= 0
		return n
	}
	duration := func(name string) time.Duration {
		return time.Duration(float64(number(name)) / float64(frequency) * float64(time.Second))
	}
	found.safepoints = number("sun.rt.safepoints")
	found.sync = duration("sun.rt.safepointSyncTime")
	found.pause = found.sync + duration("sun.rt.safepointTime")
	pauses, whole = whole, true
	found.compiles = number("sun.ci.totalCompiles")
	found.compileTime = duration("java.ci.totalTime")
	return found, pauses, whole
}

// openCounters opens the file in which a JVM publishes, found by its mapping:
// the file's name has the JVM's own idea of its user in it. It is opened once,
// since it stays readable when somebody clears /tmp.
func openCounters(host process.Host, jvm *process.JVM) (*os.File, error) {
	maps, err := os.Open(fmt.Sprintf("%s/%d/maps", host.Proc, jvm.PID))
	if err != nil {
		return nil, err
	}
	defer func() { _ = maps.Close() }()
	name, err := countersPath(maps)
	if err != nil {
		return nil, err
	}
	// The JVM's user may have put anything in its place: a pipe must not make
	// us wait, a link lead us nowhere.
	file, err := host.OpenInside(jvm.PID, name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = file.Close()
		return nil, fmt.Errorf("%s: not a plain file", name)
	}
	return file, nil
}

var errNoCounters = errors.New("the JVM publishes no counters")

// countersPath is where the JVM sees its counters: /tmp/hsperfdata_USER/NUMBER,
// wherever that directory lies for us.
func countersPath(maps io.Reader) (string, error) {
	lines := bufio.NewReader(maps)
	for {
		line, err := lines.ReadString('\n')
		fields := strings.Fields(line)
		if at := strings.LastIndex(line, "/hsperfdata_"); at >= 0 && len(fields) > 1 && strings.HasSuffix(fields[1], "s") {
			name := strings.TrimSuffix(strings.TrimSpace(line[at:]), " (deleted)")
			if strings.Count(name, "/") == 2 && strings.Trim(path.Base(name), "0123456789") == "" {
				return path.Join("/tmp", name), nil
			}
		}
		if errors.Is(err, io.EOF) {
			return "", errNoCounters
		}
		if err != nil {
			return "", err
		}
	}
}
