package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
)

// Gather collects facts about a JVM. It contacts the JVM only if there is an asker. Facts that cannot be
// read are left unknown.
func Gather(ctx context.Context, jvm *process.JVM, asker Asker) Facts {
	f := host{process.Local, "/sys/fs/cgroup"}.gather(ctx, jvm, asker)
	f.Sampling = trySampling(ctx, jvm)
	return f
}

func trySampling(ctx context.Context, jvm *process.JVM) process.Verdict {
	err := sampler.TryKernel(ctx, jvm.PID)
	var refusal *sampler.Error
	switch {
	case err == nil:
		return process.Verdict{Answer: process.Yes}
	case errors.As(err, &refusal):
		return process.Verdict{Answer: process.No, Reason: refusal.Detail}
	}
	return process.Verdict{} // other checks say why
}

// A host is the machine whose facts are read.
type host struct {
	process.Host
	groups string // the directory of control groups
}

func (h host) gather(ctx context.Context, jvm *process.JVM, asker Asker) Facts {
	f := Facts{
		JVM: *jvm, UID: os.Geteuid(), GID: os.Getegid(), Invited: h.Waits(jvm),
		TracksDependencies: h.TracksDependencies(jvm),
	}
	if asker != nil {
		f.AskError = f.ask(ctx, asker)
	}
	environment, _ := h.ReadList(jvm.PID, "environ")
	f.Environment = optionVariables(environment)
	command, _ := h.ReadList(jvm.PID, "cmdline")
	f.Agents = findAgents(f.options(command), append(h.MappedFiles(jvm.PID), h.OpenFiles(jvm.PID)...))
	f.Memory = readMemory(h.groups, h.read(jvm.PID, "cgroup"))
	f.Tmp, f.Shm = h.place(jvm.PID, "/tmp"), h.place(jvm.PID, "/dev/shm")
	return f
}

// read returns the content of a file of a process in /proc, "" if it cannot be read.
func (h host) read(pid int, name string) string {
	text, _ := h.Read(pid, name)
	return string(text)
}

// options returns all options, including those that load agents. The options that the JVM reports are
// complete but split at spaces; the command line has whole words, up to the main class.
func (f *Facts) options(command []string) []string {
	if main := slices.Index(command, f.JVM.Main); main > 0 {
		command = command[:main]
	}
	options := slices.Clone(command)
	for _, variable := range slices.Sorted(maps.Keys(f.Environment)) {
		options = append(options, strings.Fields(f.Environment[variable])...)
	}
	for _, word := range f.Arguments {
		// The beginning of a word that is known as a whole is not another agent.
		if !slices.ContainsFunc(options, func(whole string) bool { return strings.HasPrefix(whole, word) }) {
			options = append(options, word)
		}
	}
	return options
}

// optionVariables selects the variables that hold options of a JVM.
func optionVariables(environment []string) map[string]string {
	found := map[string]string{}
	for _, entry := range environment {
		switch name, value, _ := strings.Cut(entry, "="); name {
		case "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS":
			found[name] = value
		}
	}
	return found
}

// place describes a directory of a process and the file system that holds it.
func (h host) place(pid int, name string) Place {
	dir, err := h.OpenDirectory(pid, name)
	if err != nil {
		return Place{Denied: errors.Is(err, os.ErrPermission)}
	}
	defer func() { _ = dir.Close() }()
	var stat unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &stat); err != nil {
		return Place{}
	}
	const readOnly, noExec = 1, 8 // ST_RDONLY and ST_NOEXEC in statfs(2), of the mount or of the file system
	return Place{
		Known:    true,
		ReadOnly: stat.Flags&readOnly != 0, NoExec: stat.Flags&noExec != 0,
		Size: int64(stat.Blocks) * int64(stat.Bsize), Free: int64(stat.Bavail) * int64(stat.Bsize), //nolint:unconvert // Bsize has another type on other systems
	}
}

// An Asker executes commands in a JVM: an *attach.Conn.
type Asker interface {
	Execute(ctx context.Context, command string, args ...string) (attach.Reply, error)
}

// ask requests the flags and properties of the JVM. None of the commands changes anything.
func (f *Facts) ask(ctx context.Context, jvm Asker) error {
	text := map[string]string{}
	for _, command := range []string{"VM.command_line", "VM.flags", "VM.system_properties"} {
		reply, err := jvm.Execute(ctx, "jcmd", command)
		if err != nil {
			return err
		}
		if reply.Code != 0 {
			return fmt.Errorf("process %d: %s failed with code %d", f.JVM.PID, command, reply.Code)
		}
		text[command] = reply.Text
	}
	f.Asked = true
	f.Arguments = parseCommandLine(text["VM.command_line"])
	f.Flags = parseFlags(text["VM.flags"])
	f.Properties = parseProperties(text["VM.system_properties"])
	return nil
}

func parseCommandLine(text string) []string {
	for line := range strings.Lines(text) {
		if words, is := strings.CutPrefix(line, "jvm_args:"); is {
			return strings.Fields(words)
		}
	}
	return nil
}

// parseFlags parses words such as -XX:+UseG1GC and -XX:MaxHeapSize=64. The JVM lists the flags that do not
// have their default values, including those that must be unlocked.
func parseFlags(text string) map[string]string {
	flags := map[string]string{}
	for _, word := range strings.Fields(text) {
		option, is := strings.CutPrefix(word, "-XX:")
		if !is {
			continue
		}
		name, value, hasValue := strings.Cut(option, "=")
		switch {
		case hasValue:
			flags[name] = value
		case strings.HasPrefix(option, "+"):
			flags[option[1:]] = "true"
		case strings.HasPrefix(option, "-"):
			flags[option[1:]] = "false"
		}
	}
	return flags
}

// parseProperties parses lines as java.util.Properties stores them. It does not decode the escape sequences
// of white space and other special characters, which Judge does not need.
func parseProperties(text string) map[string]string {
	properties := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimRight(line, "\r\n"), "="); found {
			properties[name] = value
		}
	}
	return properties
}

// A controlGroup is the control group that limits the memory of a process.
type controlGroup struct {
	path   string
	first  bool   // it is a group of version 1
	prefix string // below the directory of control groups
}

// parseControlGroup parses a process's cgroup file: "0::/a/b" in version 2, "4:memory:/a/b" in version 1.
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

// readMemory finds the tightest limit from the process's group up to the root. A group whose path leads
// upwards is outside our namespace, and its limit is unknown.
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

// unlimited is more than any machine has: in version 1 a larger number means no limit.
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
	text, _ := os.ReadFile(filepath.Join(dir, "memory.stat")) // without it the usage is overestimated
	for line := range strings.Lines(string(text)) {
		if rest, is := strings.CutPrefix(line, idle); is {
			pages, _ := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
			m.Used = max(0, m.Used-max(0, pages))
		}
	}
	return m
}

// readNumber returns the number in a file, 0 if there is none, as in "max".
func readNumber(name string) int64 {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n
}
