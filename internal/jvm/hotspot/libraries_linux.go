package hotspot

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/unwind"
)

// libraries are the libraries of a process, as its memory holds them: their files may be replaced,
// deleted, or invisible from here.
type libraries struct {
	memory Memory
	list   func() (io.ReadCloser, error) // opens /proc/PID/maps
	now    func() time.Time
	next   time.Time       // when the mappings are listed again
	soon   time.Time       // when they may be listed again for code that is in none
	missed map[uint64]bool // pages with code that is in none
	code   []mapping       // by address
	known  map[string]opened
	jvm    *Mapped
	budget int64 // bytes that may still be read from libraries
}

// A mapping is a mapped part of a file with code.
type mapping struct {
	begin, end, offset uint64
	file               *mappedFile
}

// A mappedFile is a file that is mapped into a process. A library that is loaded twice has two.
type mappedFile struct {
	name  string
	key   string // differs between files, and between places at which they are mapped
	parts []part
}

type part struct{ begin, end, offset uint64 }

// An opened is a library that was opened. A library that is being loaded may have more parts later.
type opened struct {
	parts  []part
	mapped *Mapped // nil if it cannot be used
}

const (
	mostMappings  = 200_000
	mostLibraries = 10_000
	// mostLibraryBytes bounds what is read from all libraries. The largest libjvm.so needs 4 MiB.
	mostLibraryBytes = 256 << 20
	// Programs load libraries at any time, and listing the mappings of a large one takes milliseconds:
	// they are listed again after listPart times as long, but not more often than listEvery. When code
	// is met that is in none, they are listed after soonPart times as long.
	listEvery = time.Second
	listPart  = 100
	soonPart  = 10
)

// OpenLibraries finds the libraries of a process.
func OpenLibraries(pid int) (Libraries, error) {
	list := func() (io.ReadCloser, error) { return os.Open(fmt.Sprintf("/proc/%d/maps", pid)) }
	return openLibraries(ProcessMemory{pid}, list)
}

func openLibraries(memory Memory, list func() (io.ReadCloser, error)) (Libraries, error) {
	l := &libraries{memory: memory, list: list, now: time.Now, known: map[string]opened{}, missed: map[uint64]bool{}, budget: mostLibraryBytes}
	if err := l.refresh(); err != nil {
		return nil, err
	}
	for _, m := range l.code {
		if path.Base(m.file.name) == libjvm {
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

// refresh lists the mappings.
func (l *libraries) refresh() error {
	began := l.now()
	file, err := l.list()
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	l.code = l.code[:0]
	current := &mappedFile{}
	lines := bufio.NewScanner(file)
	for n := 0; lines.Scan() && n < mostMappings; n++ {
		// 7f2c4b600000-7f2c4b628000 r-xp 00000000 08:01 3670 /usr/lib/libc.so.6
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 {
			continue
		}
		begin, end, _ := strings.Cut(fields[0], "-")
		var p part
		var errs [3]error
		p.begin, errs[0] = strconv.ParseUint(begin, 16, 64)
		p.end, errs[1] = strconv.ParseUint(end, 16, 64)
		p.offset, errs[2] = strconv.ParseUint(fields[2], 16, 64)
		if errors.Join(errs[:]...) != nil || p.end <= p.begin {
			continue
		}
		identity := strings.Join(fields[3:], " ")
		if p.offset == 0 || !strings.HasSuffix(current.key, identity) {
			name, _ := strings.CutSuffix(strings.Join(fields[5:], " "), " (deleted)")
			current = &mappedFile{name: name, key: fmt.Sprintf("%x %s", p.begin, identity)}
		}
		current.parts = append(current.parts, p)
		if strings.Contains(fields[1], "x") {
			l.code = append(l.code, mapping{begin: p.begin, end: p.end, offset: p.offset, file: current})
		}
	}
	now := l.now()
	took := now.Sub(began)
	l.next, l.soon = now.Add(max(listEvery, listPart*took)), now.Add(soonPart*took)
	return lines.Err()
}

func (l *libraries) Exported(name string) (uint64, bool) {
	address, ok := l.jvm.Library.Exported(name)
	return address + l.jvm.Bias, ok
}

func (l *libraries) Find(pc uint64) *Mapped {
	if !l.now().Before(l.next) {
		l.missed = map[uint64]bool{}
		if err := l.refresh(); err != nil {
			return nil // it has ended
		}
	}
	i := sort.Search(len(l.code), func(i int) bool { return l.code[i].end > pc })
	if i == len(l.code) || pc < l.code[i].begin {
		return nil
	}
	return l.open(l.code[i])
}

func (l *libraries) Search(pc uint64) *Mapped {
	found := l.Find(pc)
	if found != nil || l.missed[pc/pageSize] || l.now().Before(l.soon) {
		return found
	}
	if err := l.refresh(); err != nil {
		return nil // it has ended
	}
	if found = l.Find(pc); found == nil {
		l.missed[pc/pageSize] = true
	}
	return found
}

// open reads a library; nil if it cannot be used.
func (l *libraries) open(m mapping) *Mapped {
	if known, ok := l.known[m.file.key]; ok && slices.Equal(known.parts, m.file.parts) {
		return known.mapped
	}
	if len(l.known) >= mostLibraries {
		return nil
	}
	l.known[m.file.key] = opened{parts: m.file.parts}
	library, err := unwind.Open(&image{libraries: l, parts: m.file.parts}, 1<<30)
	if err != nil {
		return nil
	}
	address, ok := library.Address(m.offset)
	if !ok {
		return nil
	}
	found := &Mapped{Name: path.Base(m.file.name), Library: library, Bias: m.begin - address}
	l.known[m.file.key] = opened{m.file.parts, found}
	return found
}

// An image is a mapped file. What is not mapped cannot be read.
type image struct {
	*libraries
	parts []part
}

// Base returns where the file begins in the process. Its first segment has the address 0.
func (i *image) Base() uint64 { return i.parts[0].begin - i.parts[0].offset }

// ReadAt reads a part of the file.
func (i *image) ReadAt(b []byte, at int64) (n int, err error) {
	if i.budget -= int64(len(b)); i.budget < 0 {
		return 0, errors.New("the limit for reading libraries is reached")
	}
	offset := uint64(at)
	for _, p := range i.parts {
		if len(b) == 0 {
			break
		}
		if offset < p.offset || offset-p.offset >= p.end-p.begin {
			continue
		}
		size := min(uint64(len(b)), p.end-p.begin-(offset-p.offset))
		if !i.memory.Read(p.begin+(offset-p.offset), b[:size]) {
			return n, io.ErrUnexpectedEOF
		}
		b, n, offset = b[size:], n+int(size), offset+size
	}
	if len(b) > 0 {
		return n, io.EOF
	}
	return n, nil
}
