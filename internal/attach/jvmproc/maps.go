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

// isMapped tells whether a process shares memory with a file of a name, whichever
// directory that is in: paths are as seen from here, not as the process sees them.
func (h Host) isMapped(pid int, base string) bool {
	file, err := os.Open(h.path(pid, "maps"))
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if name, access, ok := parseMapping(lines.Text()); ok && strings.HasSuffix(access, "s") && path.Base(name) == base {
			return true
		}
	}
	return false
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

// parseMapping takes a line apart. Most name no file, or one of no interest.
func parseMapping(line string) (file, access string, ok bool) {
	slash := strings.IndexByte(line, '/')
	if slash < 0 {
		return "", "", false
	}
	file = strings.TrimSuffix(strings.TrimSuffix(line[slash:], "\n"), " (deleted)")
	fields := strings.Fields(line[:slash])
	if len(fields) < 2 {
		return "", "", false
	}
	return file, fields[1], true
}

func (m *mapped) add(line string) {
	file, access, ok := parseMapping(line)
	if !ok {
		return
	}
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
