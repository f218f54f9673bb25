package doctor

import (
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// A controlGroup is where the limits of a process's memory stand.
type controlGroup struct {
	path   string
	first  bool   // of version 1
	prefix string // below the directory of control groups
}

// parseControlGroup reads a process's cgroup file: "0::/a/b" in version 2,
// "4:memory:/a/b" in version 1.
func parseControlGroup(text string) (g controlGroup, found bool) {
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(parts) != 3:
			continue
		case parts[1] == "memory":
			return controlGroup{path: parts[2], first: true, prefix: "memory"}, true
		case parts[0] == "0" && parts[1] == "":
			g, found = controlGroup{path: parts[2]}, true
		}
	}
	return g, found
}

// readMemory finds the tightest limit from the process's group up to the root.
// A group outside what we see, whose path leads up, has none that we know.
func readMemory(root, cgroup string) Memory {
	group, found := parseControlGroup(cgroup)
	if !found || strings.HasPrefix(group.path, "/..") {
		return Memory{}
	}
	var tightest Memory
	for at := path.Clean("/" + group.path); ; at = path.Dir(at) {
		m := readGroup(filepath.Join(root, group.prefix, at), group.first)
		if m.Limit > 0 && (tightest.Limit == 0 || m.Limit-m.Used < tightest.Limit-tightest.Used) {
			tightest = m
		}
		if at == "/" {
			return tightest
		}
	}
}

// unlimited is more than any machine has: version 1 says "no limit" so.
const unlimited = 1 << 56

func readGroup(dir string, first bool) Memory {
	limit, used, idle := "memory.max", "memory.current", "inactive_file "
	if first {
		limit, used, idle = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "
	}
	m := Memory{Limit: readNumber(filepath.Join(dir, limit)), Used: readNumber(filepath.Join(dir, used))}
	if m.Limit <= 0 || m.Limit >= unlimited || m.Used <= 0 {
		return Memory{}
	}
	text, _ := os.ReadFile(filepath.Join(dir, "memory.stat")) // without it more seems used
	for line := range strings.Lines(string(text)) {
		if rest, is := strings.CutPrefix(line, idle); is {
			pages, _ := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
			m.Used = max(0, m.Used-max(0, pages))
		}
	}
	return m
}

// readNumber is 0 for what is no number, such as "max".
func readNumber(name string) int64 {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n
}
