package jvmproc

import (
	"bufio"
	"io"
	"os"
	"path"
	"strings"
)

// mapped is what of a JVM a process has in memory.
type mapped struct {
	libjvm   string // path of HotSpot's library, mapped as code
	openJ9   bool
	counters string // path of the counters below /tmp, in the process's own view
	arenas   []string
}

func (h Host) readMaps(pid int) (mapped, error) {
	file, err := os.Open(h.path(pid, "maps"))
	if err != nil {
		return mapped{}, err
	}
	defer func() { _ = file.Close() }()
	return parseMaps(file)
}

// parseMaps reads lines such as
//
//	7f19996e3000-7f199a76f000 r-xp 002e3000 fe:00 315638    /opt/jdk/lib/server/libjvm.so
func parseMaps(r io.Reader) (m mapped, err error) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		m.add(line)
		if err == io.EOF {
			return m, nil
		}
		if err != nil {
			return m, err
		}
	}
}

func (m *mapped) add(line string) {
	// Most lines name no file, or one of no interest.
	slash := strings.IndexByte(line, '/')
	if slash < 0 {
		return
	}
	file := strings.TrimSuffix(strings.TrimSuffix(line[slash:], "\n"), " (deleted)")
	fields := strings.Fields(line[:slash])
	if len(fields) < 2 {
		return
	}
	access := fields[1]
	directory, base := path.Split(file)
	switch {
	case strings.HasPrefix(base, "libj9vm"):
		m.openJ9 = true
	case base == "libjvm.so" && strings.Contains(access, "x"):
		// A program that only reads the library maps it as data.
		m.libjvm = file
	case strings.HasPrefix(path.Base(directory), "hsperfdata_") && isNumber(base) && strings.HasSuffix(access, "s"):
		// The path is as seen from here; the process's own /tmp is what counts.
		m.counters = path.Join("/tmp", path.Base(directory), base)
	case strings.HasSuffix(access, "s") && IsArena(base):
		m.addArena(file)
	}
}

func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
