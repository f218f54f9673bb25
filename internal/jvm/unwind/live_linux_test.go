package unwind

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// TestWalkJVM stops each thread of a JVM and walks its stack to the begin of the thread, or to
// Java code.
func TestWalkJVM(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		classpath, mainClass := jvmtest.Waiting(t, jdk)
		jvm := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", classpath, mainClass}})
		process := openProcess(t, jvm.PID)
		defer process.memory.Close()

		var names []string
		for _, thread := range process.threads(t) {
			stack, err := process.walk(t, thread)
			t.Logf("thread %d: %s: %v", thread, strings.Join(stack, " < "), err)
			if !errors.Is(err, ErrOutermost) && !errors.Is(err, errJavaCode) {
				t.Errorf("thread %d: want a walk to the begin of the thread or to Java code, got %v", thread, err)
			}
			names = append(names, stack...)
		}
		want := []string{"read", "JLI_Launch", "__libc_start_main"}
		const vmThread = "_ZN8VMThread3runEv" // a name that a library without its symbols does not know
		l := openFile(t, libjvm(jdk))
		if slices.ContainsFunc(l.symbols, func(s symbol) bool { return isName(l.names, s.name, vmThread) }) {
			want = append(want, vmThread)
		}
		for _, name := range want {
			if !slices.Contains(names, name) {
				t.Errorf("want a frame of %s in some thread, got none", name)
			}
		}
	}
}

// A process is a JVM whose threads are walked.
type process struct {
	pid      int
	memory   *os.File
	mappings []mapping
	opened   map[string]*Library
}

type mapping struct {
	start, end, offset uint64
	file               string
}

func openProcess(t *testing.T, pid int) *process {
	t.Helper()
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	p := &process{pid: pid, memory: memory, opened: map[string]*Library{}}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var m mapping
		var access, device, inode string
		if n, _ := fmt.Sscanf(line, "%x-%x %s %x %s %s %s", &m.start, &m.end, &access, &m.offset, &device, &inode, &m.file); n < 6 {
			t.Fatalf("cannot read %q", line)
		}
		if strings.Contains(access, "x") {
			p.mappings = append(p.mappings, m)
		}
	}
	return p
}

func (p *process) threads(t *testing.T) (ids []int) {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		id, err := strconv.Atoi(entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

var errJavaCode = errors.New("the code is in no file")

// walk returns the functions on the stack of a thread, the innermost first, and why it ends.
func (p *process) walk(t *testing.T, thread int) (stack []string, err error) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.PtraceSeize(thread); errors.Is(err, unix.ESRCH) {
		return nil, ErrOutermost // it has ended
	} else if err != nil {
		t.Skipf("NOT TESTED: threads cannot be stopped here (be root): %v", err)
	}
	defer func() { _ = unix.PtraceDetach(thread) }()
	if err := unix.PtraceInterrupt(thread); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Wait4(thread, nil, unix.WALL, nil); err != nil {
		t.Fatal(err)
	}
	const mostFrames = 1000
	regs, machine := readRegisters(t, thread)
	for exact := true; len(stack) < mostFrames; {
		pc := regs.Values[machine.PC]
		l, address := p.find(t, pc)
		if l == nil {
			return stack, errJavaCode
		}
		if !exact {
			address--
		}
		stack = append(stack, l.Symbol(address))
		if exact, err = l.Step(address, &regs, p.word); err != nil {
			return stack, err
		}
	}
	return stack, errors.New("the stack has no end")
}

// find returns the library that contains a program counter, nil if it is in no file.
func (p *process) find(t *testing.T, pc uint64) (*Library, uint64) {
	t.Helper()
	for _, m := range p.mappings {
		if pc < m.start || pc >= m.end || m.file == "" || m.file[0] == '[' && m.file != "[vdso]" {
			continue
		}
		l := p.opened[m.file]
		switch {
		case l != nil:
		case m.file == "[vdso]":
			l = p.openVDSO(t, m)
		default:
			l = openFile(t, m.file)
		}
		p.opened[m.file] = l
		address, ok := l.Address(pc - m.start + m.offset)
		if !ok {
			t.Fatalf("%s has no code at %#x", m.file, pc-m.start+m.offset)
		}
		return l, address
	}
	return nil, 0
}

func (p *process) openVDSO(t *testing.T, m mapping) *Library {
	t.Helper()
	image := make([]byte, m.end-m.start)
	if _, err := p.memory.ReadAt(image, int64(m.start)); err != nil {
		t.Fatal(err)
	}
	l, err := Open(bytes.NewReader(image), int64(len(image)))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (p *process) word(address uint64) (uint64, bool) {
	var word [8]byte
	_, err := p.memory.ReadAt(word[:], int64(address))
	return order.Uint64(word[:]), err == nil
}

// readRegisters returns the registers of a stopped thread.
func readRegisters(t *testing.T, thread int) (regs Registers, machine Machine) {
	t.Helper()
	var raw [64]uint64
	vector := unix.Iovec{Base: (*byte)(unsafe.Pointer(&raw))}
	vector.SetLen(len(raw) * 8)
	if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GETREGSET, uintptr(thread), unix.NT_PRSTATUS, uintptr(unsafe.Pointer(&vector)), 0, 0); errno != 0 {
		t.Fatal(errno)
	}
	if runtime.GOARCH == "arm64" {
		for i := range NumRegisters {
			regs.Set(i, raw[i])
		}
		return regs, ARM64
	}
	for number, i := range []int{10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16} {
		regs.Set(number, raw[i])
	}
	return regs, AMD64
}

// TestSectionsAreNotNeeded reads libjvm as if it had no section headers.
func TestSectionsAreNotNeeded(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		want := openFile(t, libjvm(jdk))
		file, err := os.ReadFile(libjvm(jdk))
		if err != nil {
			t.Fatal(err)
		}
		order.PutUint16(file[60:], 0) // the number of section headers
		got, err := Open(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		same := slices.EqualFunc(got.functions, want.functions, func(a, b function) bool { return a.start == b.start && a.end == b.end })
		if len(got.functions) == 0 || !same {
			t.Errorf("want the %d functions that section headers lead to, got %d", len(want.functions), len(got.functions))
		}
		for _, name := range []string{"JNI_CreateJavaVM", "gHotSpotVMStructs"} {
			if address, ok := got.Exported(name); !ok || address == 0 {
				t.Errorf("want %s, got %#x, %v", name, address, ok)
			}
		}
		address, _ := got.Exported("JNI_CreateJavaVM")
		if name := got.Symbol(address + 1); name != "JNI_CreateJavaVM" {
			t.Errorf("the function at %#x: want JNI_CreateJavaVM, got %q", address+1, name)
		}
	}
}

// TestVDSO reads the image that the kernel has mapped into this process.
func TestVDSO(t *testing.T) {
	p := openProcess(t, os.Getpid())
	defer p.memory.Close()
	i := slices.IndexFunc(p.mappings, func(m mapping) bool { return m.file == "[vdso]" })
	if i < 0 {
		t.Skip("NOT TESTED: this process has no vdso")
	}
	l := p.openVDSO(t, p.mappings[i])
	name := map[Machine]string{AMD64: "__vdso_clock_gettime", ARM64: "__kernel_clock_gettime"}[l.Machine]
	address, ok := l.Exported(name)
	if !ok || !strings.HasSuffix(l.Symbol(address), "clock_gettime") {
		t.Errorf("want %s, got %v, %q", name, ok, l.Symbol(address))
	}
	if row := l.row(address); row.err != nil {
		t.Errorf("%s: %v", name, row.err)
	}
}

// TestSignalRestorer leaves a signal handler by what libc says about the code to which handlers
// return, with registers where the kernel saves them.
func TestSignalRestorer(t *testing.T) {
	libc := findLibc(t)
	l := openFile(t, libc)
	i := slices.IndexFunc(l.functions, func(f function) bool { return f.cie.signal })
	if l.Machine != AMD64 || i < 0 {
		t.Skipf("NOT TESTED: %s has no code that signal handlers return to", libc)
	}
	const sp, savedAt = 0x7000, 0x7000 + 40 // a ucontext, and the registers in it
	saved := []int{8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16}
	var regs, want Registers
	for _, number := range saved {
		want.Set(number, 0x1000+uint64(number))
	}
	regs.Set(AMD64.SP, sp)
	signal, err := l.Step(l.functions[i].start, &regs, func(address uint64) (uint64, bool) {
		i := min((address-savedAt)/8, uint64(len(saved)))
		if i == uint64(len(saved)) {
			return 0, false
		}
		return want.Values[saved[i]], true
	})
	if err != nil || !signal || regs != want {
		t.Errorf("signal %v, error %v\nwant %x\ngot  %x", signal, err, want, regs)
	}
}

func libjvm(jdk jvmtest.JDK) string { return filepath.Join(jdk.Home, "lib", "server", "libjvm.so") }
