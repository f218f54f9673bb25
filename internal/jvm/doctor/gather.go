package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
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

// An Asker is a JVM that answers commands: an *attach.Conn.
type Asker interface {
	Execute(ctx context.Context, command string, args ...string) (attach.Reply, error)
}

// ask has the JVM tell its flags and properties; none of the commands changes
// anything.
func (f *Facts) ask(ctx context.Context, jvm Asker) error {
	text := map[string]string{}
	for _, command := range []string{"VM.command_line", "VM.flags", "VM.system_properties"} {
		reply, err := jvm.Execute(ctx, "jcmd", command)
		if err != nil {
			return err
		}
		if reply.Code != 0 {
			return fmt.Errorf("process %d: it answered %s with code %d", f.JVM.PID, command, reply.Code)
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

// parseFlags reads words such as -XX:+UseG1GC and -XX:MaxHeapSize=64. The JVM
// lists the flags that are not as usual, those too that it must first be told
// to unlock.
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

// parseProperties reads lines as java.util.Properties stores them: one for each
// property, : = # ! and white space behind a backslash.
func parseProperties(text string) map[string]string {
	properties := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		var parts [2]strings.Builder
		at := 0
		for i := 0; i < len(line); i++ {
			switch b := line[i]; {
			case b == '\\' && i+1 < len(line):
				i++
				i += unescape(&parts[at], line[i:])
			case b == '=' && at == 0:
				at = 1
			default:
				parts[at].WriteByte(b)
			}
		}
		if at == 1 {
			properties[parts[0].String()] = parts[1].String()
		}
	}
	return properties
}

// unescape adds what the text after a backslash stands for and returns how many
// bytes beyond the first it took.
func unescape(part *strings.Builder, rest string) int {
	const digits = 4
	switch b := rest[0]; b {
	case 'n':
		part.WriteByte('\n')
	case 'r':
		part.WriteByte('\r')
	case 't':
		part.WriteByte('\t')
	case 'f':
		part.WriteByte('\f')
	case 'u':
		if len(rest) > digits {
			if code, err := strconv.ParseUint(rest[1:1+digits], 16, 16); err == nil {
				part.WriteRune(rune(code))
				return digits
			}
		}
		part.WriteByte(b)
	default:
		part.WriteByte(b)
	}
	return 0
}

// lookAtRuntime reads what the JVM's files say of it: which modules there are,
// and whether the library knows a flag that came with JDK 23 and was taken back
// to updates of older ones.
func (h host) lookAtRuntime(f *Facts, library string) {
	const highest = 5 // JDK 8 has its library in jre/lib/amd64/server
	directory := path.Dir(library)
	for range highest {
		directory = path.Dir(directory)
		if file, err := h.openPlain(f.JVM.PID, path.Join(directory, "release")); err == nil {
			const most = 1 << 20
			text, _ := io.ReadAll(io.LimitReader(file, most)) // what could be read
			_ = file.Close()
			f.Modules = modulesOf(string(text))
			break
		}
	}
	file, err := h.openPlain(f.JVM.PID, library)
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }()
	const largest = 256 << 20
	switch there, err := contains(io.LimitReader(file, largest), "AlwaysRecordEvolDependencies"); {
	case err != nil:
	case there:
		f.TracksDependencies = process.Yes
	default:
		f.TracksDependencies = process.No
	}
}

// openPlain opens a plain file the JVM has; nothing else may make us wait.
func (h host) openPlain(pid int, name string) (*os.File, error) {
	file, err := h.OpenInside(pid, name, os.O_RDONLY|syscall.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = file.Close()
		return nil, errors.New(name + ": not a plain file")
	}
	return file, nil
}

// modulesOf finds the modules in the text of a release file.
func modulesOf(text string) []string {
	for line := range strings.Lines(text) {
		if value, is := strings.CutPrefix(strings.TrimSpace(line), "MODULES="); is {
			return strings.Fields(strings.Trim(value, `"`))
		}
	}
	return nil
}

// contains looks for a text in a stream, piece by piece.
func contains(r io.Reader, text string) (bool, error) {
	const piece = 1 << 20
	buffer := make([]byte, 0, piece+len(text))
	for {
		n, err := io.ReadFull(r, buffer[len(buffer):len(buffer)+piece])
		buffer = buffer[:len(buffer)+n]
		if bytes.Contains(buffer, []byte(text)) {
			return true, nil
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return false, nil
		case err != nil:
			return false, err
		}
		// The end may be the text's beginning.
		kept := copy(buffer[:len(text)], buffer[len(buffer)-len(text):])
		buffer = buffer[:kept]
	}
}

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

// mountOptions are the options of the mount that holds a path, by the text of a
// process's mountinfo; nil where none does. Fields, as proc(5) has them:
//
//	36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
func mountOptions(mountinfo, path string) []string {
	var longest string
	var options []string
	for line := range strings.Lines(mountinfo) {
		const point, perMount, least = 4, 5, 6
		fields := strings.Fields(line)
		if len(fields) < least {
			continue
		}
		at := unescapeOctal(fields[point])
		if !holds(at, path) || len(at) < len(longest) {
			continue // of two at one place the later one counts
		}
		longest, options = at, strings.Split(fields[perMount], ",")
		// The file system as a whole can be read-only under a mount that is not.
		if dash := slices.Index(fields, "-"); dash > 0 && dash+3 < len(fields) {
			options = append(options, strings.Split(fields[dash+3], ",")...)
		}
	}
	return options
}

func holds(mount, path string) bool {
	return mount == "/" || path == mount || strings.HasPrefix(path, mount+"/")
}

// unescapeOctal undoes \040 and its like.
func unescapeOctal(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) {
			if code, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				out.WriteByte(byte(code))
				i += 3
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}
