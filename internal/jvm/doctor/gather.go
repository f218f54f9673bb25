package doctor

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// Gather collects what can be known of a JVM. It is asked itself only where an
// asker is given; nil leaves it untouched. What cannot be read is left unknown.
func Gather(ctx context.Context, jvm *process.JVM, asker Asker) Facts {
	return host{process.Local, "/sys/fs/cgroup"}.gather(ctx, jvm, asker)
}

// A host is where facts are read.
type host struct {
	process.Host
	groups string // the directory of control groups
}

func (h host) gather(ctx context.Context, jvm *process.JVM, asker Asker) Facts {
	f := Facts{
		JVM: *jvm, UID: os.Geteuid(), GID: os.Getegid(), Invited: h.Waits(jvm),
		TracksDependencies: process.Unknown,
	}
	if asker != nil {
		f.AskError = f.ask(ctx, asker)
	}
	f.Environment = optionVariables(h.read(jvm.PID, "environ"))
	files := mappedFiles(h.read(jvm.PID, "maps"))
	if library := slices.IndexFunc(files, func(name string) bool { return path.Base(name) == "libjvm.so" }); library >= 0 {
		h.lookAtRuntime(&f, files[library])
	}
	files = append(files, h.openFiles(jvm.PID)...)
	f.Agents = findAgents(f.options(splitZeros(h.read(jvm.PID, "cmdline"))), files)
	f.Memory = readMemory(h.groups, h.read(jvm.PID, "cgroup"))
	mountinfo := h.read(jvm.PID, "mountinfo")
	f.Tmp, f.Shm = h.place(jvm.PID, mountinfo, "/tmp"), h.place(jvm.PID, mountinfo, "/dev/shm")
	return f
}

// read is the content of one of a process's files, "" where it is closed to us.
func (h host) read(pid int, name string) string {
	text, _ := os.ReadFile(filepath.Join(h.Proc, fmt.Sprint(pid), name))
	return string(text)
}

// options are the words among which those that load agents are. The JVM's own
// account is complete but cut at spaces; the command line has whole words, but
// after the main class they are the program's.
func (f *Facts) options(command []string) []string {
	if main := slices.Index(command, f.JVM.Main); main > 0 {
		command = command[:main]
	}
	options := slices.Clone(command)
	for _, variable := range slices.Sorted(maps.Keys(f.Environment)) {
		options = append(options, strings.Fields(f.Environment[variable])...)
	}
	for _, word := range f.Arguments {
		// The beginning of a word that is there as a whole is no other agent.
		if !slices.ContainsFunc(options, func(whole string) bool { return strings.HasPrefix(whole, word) }) {
			options = append(options, word)
		}
	}
	return options
}

// optionVariables picks the variables that hold options of a JVM.
func optionVariables(environ string) map[string]string {
	found := map[string]string{}
	for _, entry := range splitZeros(environ) {
		switch name, value, _ := strings.Cut(entry, "="); name {
		case "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS":
			found[name] = value
		}
	}
	return found
}

// mappedFiles are the paths in the text of a maps file, each once.
func mappedFiles(text string) []string {
	var files []string
	for line := range strings.Lines(text) {
		if slash := strings.IndexByte(line, '/'); slash >= 0 {
			file := strings.TrimSuffix(strings.TrimSpace(line[slash:]), " (deleted)")
			if len(files) == 0 || files[len(files)-1] != file {
				files = append(files, file)
			}
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// openFiles are the paths a process has open. A JVM keeps jars open, those of
// agents too that came late.
func (h host) openFiles(pid int) []string {
	folder := filepath.Join(h.Proc, fmt.Sprint(pid), "fd")
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	var files []string
	for _, entry := range entries {
		if file, err := os.Readlink(filepath.Join(folder, entry.Name())); err == nil && strings.HasPrefix(file, "/") {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

func (h host) place(pid int, mountinfo, name string) Place {
	options := mountOptions(mountinfo, name)
	size, free, ok := h.space(pid, name)
	if !ok {
		return Place{}
	}
	return Place{
		Known:    true,
		ReadOnly: slices.Contains(options, "ro"), NoExec: slices.Contains(options, "noexec"),
		Size: size, Free: free,
	}
}

func splitZeros(text string) []string {
	if text = strings.TrimSuffix(text, "\x00"); text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}
