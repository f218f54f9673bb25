package process

import (
	"iter"
	"os"
	"path"
	"slices"
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
	text, root, err := h.mapsOf(pid)
	return parseMaps(text, root), err
}

// mapsOf returns the list of a process's mappings, and its root directory as names in the list begin with it:
// / except for a process that has called chroot.
func (h Host) mapsOf(pid int) (text, root string, err error) {
	data, err := h.Read(pid, "maps")
	root, _ = os.Readlink(h.Path(pid, "root")) // without it, names are used as they are
	return string(data), root, err
}

// shared returns the files that a process shares memory with.
func (h Host) shared(pid int) (all []mapping, err error) {
	text, root, err := h.mapsOf(pid)
	for m := range mappings(text, root) {
		if m.isShared() {
			all = append(all, m)
		}
	}
	return all, err
}

// MappedFiles returns the files that a process has mapped, in order.
func (h Host) MappedFiles(pid int) (files []string) {
	text, root, _ := h.mapsOf(pid) // none if it cannot be read
	for m := range mappings(text, root) {
		files = append(files, m.file)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

func parseMaps(text, root string) (m mapped) {
	for found := range mappings(text, root) {
		m.add(found)
	}
	return m
}

// mappings parses lines such as
//
//	7f19996e3000-7f199a76f000 r-xp 002e3000 fe:00 315638    /opt/jdk/lib/server/libjvm.so
//
// and skips the many that name no file. Names below the root directory of the process become the names that it sees.
func mappings(text, root string) iter.Seq[mapping] {
	return func(yield func(mapping) bool) {
		for line := range strings.Lines(text) {
			m, ok := parseMapping(line)
			if inside, is := strings.CutPrefix(m.file, root); is && strings.HasPrefix(inside, "/") {
				m.file = inside
			}
			if ok && !yield(m) {
				return
			}
		}
	}
}

// A mapping is a mapped part of a file.
type mapping struct {
	begin    string // address, in hexadecimal
	access   string
	identity string // device and inode of the file, as printed in maps
	file     string // path; in another mount namespace it may be another one for the process
	deleted  bool
}

func (m *mapping) isShared() bool { return strings.HasSuffix(m.access, "s") }

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

func (m *mapped) add(found mapping) {
	directory, base := path.Split(found.file)
	switch {
	case strings.HasPrefix(base, "libj9vm"):
		m.openJ9 = true
	case base == "libjvm.so" && strings.Contains(found.access, "x"):
		// A program that only reads the library maps it as data.
		m.libjvm = found.file
	case strings.HasPrefix(path.Base(directory), "hsperfdata_") && isNumber(base) && found.isShared():
		// The path is as seen from here, but the file is in the process's own /tmp.
		m.counters = path.Join("/tmp", path.Base(directory), base)
	case found.isShared() && IsArena(base) && !slices.Contains(m.arenas, found.file):
		m.arenas = append(m.arenas, found.file)
	}
}

func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
