package hotspot

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"sort"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvm/unwind"
)

// libraries are the libraries of a process, as its memory holds them: their files may be replaced,
// deleted, or invisible from here.
type libraries struct {
	memory Memory
	pid    int
	maps   []mapping // code, by address
	all    map[string][]mapping
	known  map[string]*Mapped // by name and first address; nil if it cannot be used
	jvm    *Mapped
}

// A mapping is a mapped part of a file.
type mapping struct {
	begin, end, offset uint64
	name               string
}

const mostMappings = 200_000

// OpenLibraries finds the libraries of a process.
func OpenLibraries(pid int) (Libraries, error) {
	l := &libraries{memory: ProcessMemory{pid}, pid: pid, known: map[string]*Mapped{}}
	if err := l.refresh(); err != nil {
		return nil, err
	}
	for _, m := range l.maps {
		if path.Base(m.name) == "libjvm.so" {
			if !l.memory.Read(m.begin, make([]byte, 1)) {
				return nil, ErrMemory
			}
			if l.jvm = l.open(m); l.jvm != nil {
				return l, nil
			}
		}
	}
	return nil, errors.New("its libjvm.so cannot be read")
}

func (l *libraries) refresh() error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", l.pid))
	if err != nil {
		return err
	}
	l.maps, l.all = nil, map[string][]mapping{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 0; lines.Scan() && n < mostMappings; n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 {
			continue
		}
		begin, end, _ := strings.Cut(fields[0], "-")
		var m mapping
		var errs [3]error
		m.begin, errs[0] = strconv.ParseUint(begin, 16, 64)
		m.end, errs[1] = strconv.ParseUint(end, 16, 64)
		m.offset, errs[2] = strconv.ParseUint(fields[2], 16, 64)
		m.name = strings.Join(fields[5:], " ")
		if errors.Join(errs[:]...) != nil || m.end <= m.begin {
			continue
		}
		l.all[m.name] = append(l.all[m.name], m)
		if strings.Contains(fields[1], "x") {
			l.maps = append(l.maps, m)
		}
	}
	return nil
}

func (l *libraries) Exported(name string) (uint64, bool) {
	address, ok := l.jvm.Library.Exported(name)
	return address + l.jvm.Bias, ok
}

func (l *libraries) Find(pc uint64) *Mapped {
	i := sort.Search(len(l.maps), func(i int) bool { return l.maps[i].end > pc })
	if i == len(l.maps) || pc < l.maps[i].begin {
		return nil
	}
	return l.open(l.maps[i])
}

func (l *libraries) open(m mapping) *Mapped {
	key := fmt.Sprintf("%x %s", m.begin, m.name)
	if known, ok := l.known[key]; ok {
		return known
	}
	l.known[key] = nil
	library, err := unwind.Open(&image{memory: l.memory, parts: l.all[m.name]}, 1<<30)
	if err != nil {
		return nil
	}
	address, ok := library.Address(m.offset)
	if !ok {
		return nil
	}
	found := &Mapped{Name: path.Base(m.name), Library: library, Bias: m.begin - address}
	l.known[key] = found
	return found
}

// An image is a mapped file. What is not mapped cannot be read.
type image struct {
	memory Memory
	parts  []mapping
}

// Base returns where the file begins in the process. Its first segment has the address 0.
func (i *image) Base() uint64 { return i.parts[0].begin - i.parts[0].offset }

func (i *image) ReadAt(b []byte, at int64) (int, error) {
	offset := uint64(at)
	for _, p := range i.parts {
		if offset >= p.offset && offset-p.offset < p.end-p.begin {
			n := min(uint64(len(b)), p.end-p.begin-(offset-p.offset))
			if !i.memory.Read(p.begin+(offset-p.offset), b[:n]) {
				return 0, io.ErrUnexpectedEOF
			}
			if n < uint64(len(b)) {
				more, err := i.ReadAt(b[n:], at+int64(n))
				return int(n) + more, err
			}
			return int(n), nil
		}
	}
	return 0, io.EOF
}
