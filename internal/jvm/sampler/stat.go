package sampler

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// Fields of /proc/PID/stat, counted from 1 as proc(5) does.
const (
	fieldState  = 3
	fieldUser   = 14 // time in user mode, in ticks
	fieldSystem = 15
	fieldStart  = 22
)

// tick is the unit of times in /proc on every Linux there is.
const tick = 10 * time.Millisecond

// errEnded is a process that nobody has asked for its exit code yet.
var errEnded = errors.New("the process has ended")

// A stat is a line of /proc/PID/stat from its third field on. The second, the
// command, may hold anything, so its closing parenthesis, the last, is where
// counting begins.
type stat []string

func readStat(file string) (stat, error) {
	line, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	fields := stat(strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:])))
	if len(fields) <= fieldStart-fieldState {
		return nil, fmt.Errorf("%s: only %d fields after the command", file, len(fields))
	}
	return fields, nil
}

func (s stat) number(field int) (uint64, error) {
	return strconv.ParseUint(s[field-fieldState], 10, 64)
}

// startTicks is when a process started, in ticks since the boot.
func startTicks(pid int) (uint64, error) {
	s, err := readStat(filepath.Join(process.Local.Proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, err
	}
	if state := s[0]; state == "Z" || state == "X" {
		return 0, errEnded
	}
	return s.number(fieldStart)
}
