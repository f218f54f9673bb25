package live

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
)

// A Footprint is what a process occupies of the system.
type Footprint struct {
	Threads     int      // of the operating system
	Descriptors []string // what open file descriptors lead to, sorted
	Mappings    []string // mapped files, each once, sorted
	Metaspace   int64    // bytes in use for classes
}

var metaspaceUsed = regexp.MustCompile(`(?m)^\s*Both:\s+(\d+) bytes used`)

// Footprint collects garbage and looks at what the program occupies. It is the
// same twice only if the program is at rest, and attaching for it is not new.
func (p *Program) Footprint() Footprint {
	p.t.Helper()
	p.GC()
	process := fmt.Sprintf("/proc/%d", p.PID)
	tasks, err := os.ReadDir(filepath.Join(process, "task"))
	if err != nil {
		p.t.Fatal(err)
	}
	return Footprint{len(tasks), p.descriptors(process), p.mappings(process), p.metaspace()}
}

func (p *Program) descriptors(process string) []string {
	p.t.Helper()
	entries, err := os.ReadDir(filepath.Join(process, "fd"))
	if err != nil {
		p.t.Fatal(err)
	}
	var targets []string
	for _, entry := range entries {
		// A descriptor may be closed by now, which is as good as not listed.
		if target, err := os.Readlink(filepath.Join(process, "fd", entry.Name())); err == nil {
			targets = append(targets, target)
		}
	}
	slices.Sort(targets)
	return targets
}

func (p *Program) mappings(process string) []string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(process, "maps"))
	if err != nil {
		p.t.Fatal(err)
	}
	var files []string
	for line := range strings.Lines(string(text)) {
		if i := strings.IndexByte(line, '/'); i >= 0 {
			files = append(files, strings.TrimSpace(line[i:]))
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

func (p *Program) metaspace() int64 {
	p.t.Helper()
	conn, err := attach.Open(p.t.Context(), p.PID)
	if err != nil {
		p.t.Fatal(err)
	}
	defer conn.Close()
	reply, err := conn.Execute(p.t.Context(), "jcmd", "VM.metaspace basic scale=1")
	if err != nil {
		p.t.Fatal(err)
	}
	match := metaspaceUsed.FindStringSubmatch(reply.Text)
	if match == nil {
		p.t.Fatalf("VM.metaspace does not tell what is in use: %d %s", reply.Code, reply.Text)
	}
	used, err := strconv.ParseInt(match[1], 10, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return used
}
