package process

import (
	"bufio"
	"io"
	"os"
	"path"
	"strings"
)

// mapped are the mapped files of a process that concern Sonde.
type mapped struct {
	libjvm   string // path of HotSpot's library, mapped as code
	openJ9   bool
	counters string // path of the counters below /tmp, in the process's own view
	arenas   []string
}

func (h Host) readMaps(pid int) (mapped, error) {
	file, err := os.Open(h.Path(pid, "maps"))
	if err != nil {
		return mapped{}, err
	}
	defer func() { _ = file.Close() }()
	return parseMaps(file)
}

// shared returns the files that a process shares memory with.
func (h Host) shared(pid int) (all []mapping, err error) {
	file, err := os.Open(h.Path(pid, "maps"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if m, ok := parseMapping(lines.Text()); ok && m.isShared() {
			all = append(all, m)
		}
	}
	return all, lines.Err()
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

// A mapping is a mapped part of a file.
type mapping struct {
	begin    string // address, in hexadecimal
	access   string
	identity string // device and inode of the file, as printed in maps
	file     string // path as seen from here, not as the process sees it
	deleted  bool
}

func (m *mapping) isShared() bool { return strings.HasSuffix(m.access, "s") }

// parseMapping parses a line. Most lines name no file.
func parseMapping(line string) (m mapping, ok bool) {
	slash := strings.IndexByte(line, '/')
	if slash < 0 {
		return mapping{}, false
	}
	m.file, m.deleted = strings.CutSuffix(strings.TrimSuffix(line[slash:], "\n"), " (deleted)")
	fields := strings.Fields(line[:slash])
	if len(fields) < 5 {
		return mapping{}, false
	}
	m.begin, _, _ = strings.Cut(fields[0], "-")
	m.access, m.identity = fields[1], fields[3]+" "+fields[4]
	return m, true
}

func (m *mapped) add(line string) {
	found, ok := parseMapping(line)
	if !ok {
		return
	}
	file := found.file
	directory, base := path.Split(file)
	switch {
	case strings.HasPrefix(base, "libj9vm"):
		m.openJ9 = true
	case base == "libjvm.so" && strings.Contains(found.access, "x"):
		// A program that only reads the library maps it as data.
		m.libjvm = file
	case strings.HasPrefix(path.Base(directory), "hsperfdata_") && isNumber(base) && found.isShared():
		// The path is as seen from here, but the file is in the process's own /tmp.
		m.counters = path.Join("/tmp", path.Base(directory), base)
	case found.isShared() && IsArena(base):
		m.addArena(file)
	}
}

func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
