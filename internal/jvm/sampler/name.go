package sampler

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// A name is what a recording of ours is called:
//
//	sonde-<process>-<its start in ticks>-<its pid namespace>-<serial>
//
// The first three name the Sonde it belongs to for good, the last tells its
// recordings apart.
type name struct {
	process   int
	started   uint64
	namespace uint64
	serial    uint64
}

var nameForm = regexp.MustCompile(`^sonde-([0-9]{1,10})-([0-9]{1,20})-([0-9]{1,20})-([0-9]{1,20})$`)

func (n name) String() string {
	return fmt.Sprintf("sonde-%d-%d-%d-%d", n.process, n.started, n.namespace, n.serial)
}

// parseName tells names of ours from all others.
func parseName(text string) (n name, ours bool) {
	parts := nameForm.FindStringSubmatch(text)
	if parts == nil {
		return n, false
	}
	var failed [4]error
	n.process, failed[0] = strconv.Atoi(parts[1])
	n.started, failed[1] = strconv.ParseUint(parts[2], 10, 64)
	n.namespace, failed[2] = strconv.ParseUint(parts[3], 10, 64)
	n.serial, failed[3] = strconv.ParseUint(parts[4], 10, 64)
	return n, errors.Join(failed[:]...) == nil
}

// ownName is the name of a recording of this process.
func ownName(serial uint64) (name, error) {
	n := name{process: os.Getpid(), serial: serial}
	var err error
	if n.started, err = startTicks(n.process); err != nil {
		return n, fmt.Errorf("when this process started: %w", err)
	}
	if n.namespace, err = pidNamespace(); err != nil {
		return n, fmt.Errorf("the namespace of this process: %w", err)
	}
	return n, nil
}

// pidNamespace is the number of the namespace in which this process has its
// number, as in pid:[4026531836].
func pidNamespace() (uint64, error) {
	link, err := os.Readlink(filepath.Join(process.Local.Proc, "self", "ns", "pid"))
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(link, "pid:["), "]"), 10, 64)
}

// life tells whether the Sonde of a name lives. One of another namespace, or
// where /proc does not answer, is not known to be dead.
func (n name) life() process.Answer {
	here, err := pidNamespace()
	if err != nil || here != n.namespace {
		return process.Unknown
	}
	ticks, err := startTicks(n.process)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, errEnded):
		return process.No
	case err != nil:
		return process.Unknown
	case ticks != n.started:
		return process.No
	}
	return process.Yes
}
