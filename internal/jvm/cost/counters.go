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

// counters are the published counters of pauses and compilations.
type counters struct {
	safepoints  int64
	pause       time.Duration // with the wait until all threads have stopped
	compileTime time.Duration
}

// countersFrom converts published counters, whose times are in ticks of the JVM's clock.
//
// A safepoint is counted when it begins, the wait until all threads have stopped when they
// have, the rest when it ends; a compilation and its time when it ends. On JDK 17 and 25
// the two times add up to what -Xlog:safepoint calls the total. JDK 8 is said to have the
// wait in both, so its pauses would be too long by the wait.
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
	found.pause = duration("sun.rt.safepointSyncTime") + duration("sun.rt.safepointTime")
	pauses, whole = whole, true
	found.compileTime = duration("java.ci.totalTime")
	return found, pauses, whole
}

// openCounters opens the file in which a JVM publishes its counters. It is found by its
// mapping because its name contains the user name as the JVM sees it. It is opened once
// and stays readable when somebody clears /tmp.
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
	// The JVM's user may have put anything in its place: do not block on a pipe, and do not
	// follow a link.
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

// countersPath returns the path of the counters as the JVM sees it:
// /tmp/hsperfdata_USER/NUMBER.
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
