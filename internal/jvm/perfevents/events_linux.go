package perfevents

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Events samples a process. Its methods must not be called concurrently.
type Events struct {
	KernelExcluded bool // time in the kernel is missing from the samples

	pid        int
	tasks      *os.File // /proc/PID/task: it stays that of this process if its PID is used again
	attr       unix.PerfEventAttr
	processors []processor
	files      []int                  // of the events
	threads    map[int]uint64         // threads with all events, and the time after which threads that they create inherit them
	suspects   map[int]bool           // threads in the last listing that seem to have no events
	late       map[uint64]int         // files of the events opened for suspects, by the number of the event
	sampledBy  map[threadOnCPU]uint64 // the last event that sampled a thread; used only while there are late events
	changes    []change
	listed     time.Time
	throttled  int
	sample     Sample
	closed     bool
}

// A processor has a ring and the event to which it belongs.
type processor struct {
	ring
	number int
	file   int
	memory []byte
}

type threadOnCPU struct{ tid, cpu int }

const (
	// mostFiles bounds the number of events: the threads times the processors.
	mostFiles = 60_000
	// mostProcessors bounds the numbers in the list of processors.
	mostProcessors = 8192
	// sureAfter is longer than the kernel usually takes from copying events to a new thread to the FORK record.
	sureAfter = 20 * time.Millisecond
	// listEvery is the interval of listings of the threads.
	listEvery = time.Second
	// inheritThread (Linux 5.13) keeps child processes from inheriting events.
	inheritThread = 1 << 35
)

// Open samples all threads of a process from now on.
func Open(pid int, o Options) (*Events, error) {
	if highest := readNumber("/proc/sys/kernel/perf_event_max_sample_rate", 100_000); o.Frequency < 1 || o.Frequency > highest {
		return nil, fmt.Errorf("%d samples a second: the kernel permits 1 to %d (kernel.perf_event_max_sample_rate)", o.Frequency, highest)
	}
	if o.Stack < 0 || o.Stack >= 1<<16 || o.Stack%8 != 0 {
		return nil, fmt.Errorf("%d bytes of stack: it must be a multiple of 8 and less than 64 KiB", o.Stack)
	}
	e := &Events{pid: pid, threads: map[int]uint64{}, late: map[uint64]int{}, sampledBy: map[threadOnCPU]uint64{}}
	if registerCount == 0 {
		return nil, e.obstacle(ErrUnavailable, "the registers of this kind of processor are not known to Sonde", errors.ErrUnsupported)
	}
	e.attr = unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE,
		// The timers of cpu-clock and task-clock are the same; only the sources of their counters differ.
		Config: unix.PERF_COUNT_SW_CPU_CLOCK,
		Sample: uint64(time.Second) / uint64(o.Frequency),
		Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_ID | unix.PERF_SAMPLE_CPU |
			unix.PERF_SAMPLE_PERIOD | unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER,
		Bits:              unix.PerfBitInherit | inheritThread | unix.PerfBitTask | unix.PerfBitUseClockID | unix.PerfBitExcludeHv,
		Sample_regs_user:  registerMask,
		Sample_stack_user: uint32(o.Stack),
		Clockid:           unix.CLOCK_MONOTONIC,
	}
	e.attr.Size = uint32(unsafe.Sizeof(e.attr))
	if o.Kernel {
		e.attr.Sample_type |= unix.PERF_SAMPLE_CALLCHAIN
		e.attr.Bits |= unix.PerfBitExcludeCallchainUser
	}
	if err := e.start(); err != nil {
		e.Close() //nolint:errcheck // the first error counts
		return nil, err
	}
	return e, nil
}

// start opens the rings and the events of all threads. Samples that arrive meanwhile are not used.
func (e *Events) start() (err error) {
	if e.tasks, err = os.Open(fmt.Sprintf("/proc/%d/task", e.pid)); isRefused(err) {
		return e.explain(err)
	} else if err != nil {
		return e.ended(err)
	}
	if err := e.openRings(); err != nil {
		return err
	}
	tids, err := e.list()
	if err != nil {
		return err
	}
	for _, tid := range tids {
		if err := e.add(tid, false); err != nil {
			return err
		}
	}
	if len(e.threads) == 0 {
		return e.ended(unix.ESRCH)
	}
	const rounds, pause = 20, 2 * time.Millisecond
	for range rounds {
		time.Sleep(pause) // let FORK records arrive
		if _, err := e.drain(func(*Sample) {}); err != nil {
			return err
		}
		if err := e.follow(); err != nil || len(e.suspects) == 0 {
			return err
		}
	}
	return nil // the process creates threads all the time: Read goes on
}

// openRings maps a ring for each processor that is online: the largest for which this user may lock memory.
func (e *Events) openRings() error {
	numbers, err := onlineProcessors()
	if err != nil {
		return e.obstacle(ErrUnavailable, "the list of processors cannot be read: mount /sys", err)
	}
	const largest, usual, smallest, all = 4 << 20, 512 << 10, 128 << 10, 64 << 20
	for size := largest; ; size /= 2 {
		if size > usual && size*len(numbers) > all {
			continue
		}
		err := e.tryRings(numbers, size)
		if err == nil && len(e.processors) == 0 {
			return e.obstacle(ErrUnavailable, "no processor is online for perf_event_open", nil)
		}
		if err == nil || !errors.Is(err, ErrMemory) || size == smallest {
			return err
		}
		e.closeRings()
	}
}

func (e *Events) tryRings(numbers []int, size int) error {
	attr := unix.PerfEventAttr{
		Type:    unix.PERF_TYPE_SOFTWARE,
		Config:  unix.PERF_COUNT_SW_DUMMY,
		Bits:    unix.PerfBitDisabled | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv | unix.PerfBitUseClockID,
		Clockid: unix.CLOCK_MONOTONIC,
	}
	attr.Size = uint32(unsafe.Sizeof(attr))
	for _, number := range numbers {
		// The first thread of this process never ends before the process.
		file, err := unix.PerfEventOpen(&attr, os.Getpid(), number, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if errors.Is(err, unix.ENODEV) {
			continue // it went offline
		}
		if err != nil {
			return e.explainOwn(err)
		}
		page := os.Getpagesize()
		memory, err := unix.Mmap(file, 0, page+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			unix.Close(file) //nolint:errcheck // nothing was written to it
			return e.obstacle(ErrMemory, "end other profilers, raise kernel.perf_event_mlock_kb or ulimit -l, or be root", err)
		}
		control := (*unix.PerfEventMmapPage)(unsafe.Pointer(&memory[0]))
		e.processors = append(e.processors, processor{
			ring:   ring{head: &control.Data_head, tail: &control.Data_tail, data: memory[page:]},
			number: number, file: file, memory: memory,
		})
	}
	return nil
}

// onlineProcessors reads a list such as 0-3,8.
func onlineProcessors() (numbers []int, err error) {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, err
	}
	for part := range strings.SplitSeq(strings.TrimSpace(string(text)), ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err != nil || err2 != nil || from < 0 || to >= mostProcessors {
			return nil, fmt.Errorf("not a list of processors: %q", text)
		}
		for number := from; number <= to; number++ {
			numbers = append(numbers, number)
		}
	}
	return numbers, nil
}

// list returns the threads of the process.
func (e *Events) list() (tids []int, err error) {
	if _, err := e.tasks.Seek(0, 0); err != nil {
		return nil, e.ended(err)
	}
	names, err := e.tasks.Readdirnames(-1)
	if err != nil || len(names) == 0 {
		return nil, e.ended(err)
	}
	for _, name := range names {
		if tid, err := strconv.Atoi(name); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids, nil
}

// follow opens events for threads that have none, even in the second listing.
func (e *Events) follow() error {
	e.listed = time.Now()
	before := now()
	tids, err := e.list()
	if err != nil {
		return err
	}
	suspects, listed := map[int]bool{}, make(map[int]bool, len(tids))
	for _, tid := range tids {
		listed[tid] = true
		if _, known := e.threads[tid]; known {
			continue
		}
		if !e.suspects[tid] {
			suspects[tid] = true
		} else if err := e.add(tid, true); err != nil {
			return err
		}
	}
	e.suspects = suspects
	// The record of a thread's end can be lost.
	maps.DeleteFunc(e.threads, func(tid int, sure uint64) bool { return !listed[tid] && sure < before })
	maps.DeleteFunc(e.sampledBy, func(key threadOnCPU, _ uint64) bool { return !listed[key.tid] })
	return nil
}

// add opens the events of a thread, unless it ends.
func (e *Events) add(tid int, late bool) error {
	if len(e.files)+len(e.processors) > mostFiles {
		return e.obstacle(ErrFiles, fmt.Sprintf("Sonde opens one for each thread and processor, and at most %d", mostFiles), nil)
	}
	for i := range e.processors {
		p := &e.processors[i]
		file, err := e.open(tid, p.number)
		switch {
		case errors.Is(err, unix.ENODEV): // the processor went offline
			continue
		case errors.Is(err, unix.ESRCH):
			return nil
		case err != nil:
			return e.explain(err)
		}
		e.files = append(e.files, file)
		if err := unix.IoctlSetInt(file, unix.PERF_EVENT_IOC_SET_OUTPUT, p.file); err != nil {
			return e.obstacle(ErrUnavailable, "the kernel cannot write the samples of several threads into one ring", err)
		}
		if late {
			var number uint64
			if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(file), unix.PERF_EVENT_IOC_ID, uintptr(unsafe.Pointer(&number))); errno != 0 {
				return e.obstacle(ErrUnavailable, "the kernel does not number events", errno)
			}
			e.late[number] = file
		}
	}
	e.threads[tid] = now() + uint64(sureAfter)
	return nil
}

// open opens one event. The first one shows what this user and this kernel permit.
func (e *Events) open(tid, cpu int) (int, error) {
	for {
		file, err := unix.PerfEventOpen(&e.attr, tid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR):
		case isRefused(err) && len(e.files) == 0 && !e.KernelExcluded:
			e.KernelExcluded = true
			e.attr.Bits |= unix.PerfBitExcludeKernel
			e.attr.Sample_type &^= unix.PERF_SAMPLE_CALLCHAIN
			e.attr.Bits &^= unix.PerfBitExcludeCallchainUser
		case errors.Is(err, unix.EINVAL) && len(e.files) == 0 && e.attr.Bits&inheritThread != 0:
			e.attr.Bits &^= inheritThread
		default:
			return file, err
		}
	}
}

// Read passes the samples that have arrived, in the order of their times for each processor, and returns how many
// were lost since the last call. The error is ErrEnded some time after the process has ended.
func (e *Events) Read(yield func(*Sample)) (lost int, err error) {
	if e.closed {
		return 0, os.ErrClosed
	}
	lost, err = e.drain(yield)
	if err == nil && time.Since(e.listed) >= listEvery {
		err = e.follow()
	}
	return lost, err
}

// drain reads all rings. What happened to threads is applied in the order of time, because a thread and a thread
// that it creates can be in different rings.
func (e *Events) drain(yield func(*Sample)) (lost int, err error) {
	heads := make([]uint64, len(e.processors))
	for i := range e.processors {
		heads[i] = e.processors[i].written()
	}
	e.changes = e.changes[:0]
	for i := range e.processors {
		malformed := e.processors[i].read(heads[i], func(kind uint32, body []byte) error {
			n, err := e.record(kind, body, yield)
			lost += n
			return err
		})
		if malformed != nil {
			err = e.obstacle(ErrMalformed, fmt.Sprintf("all records of processor %d up to now are skipped", e.processors[i].number), malformed)
		}
	}
	slices.SortStableFunc(e.changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	for _, c := range e.changes {
		e.apply(c)
	}
	return lost, err
}

// record handles one record, and returns how many samples the kernel reports as lost.
func (e *Events) record(kind uint32, body []byte, yield func(*Sample)) (lost int, err error) {
	f := fields{rest: body}
	switch kind {
	case recordSample:
		if err := e.sample.decode(body, e.attr.Sample_type&unix.PERF_SAMPLE_CALLCHAIN != 0); err != nil {
			return 0, err
		}
		if e.sample.pid == e.pid && e.isFirst(&e.sample) {
			yield(&e.sample)
		}
	case recordFork, recordExit:
		c, err := decodeChange(body, kind == recordExit)
		if err != nil {
			return 0, err
		}
		if c.pid == e.pid {
			e.changes = append(e.changes, c)
		}
	case recordLost:
		f.uint64() // number of the event
		lost = int(min(f.uint64(), 1<<31-1))
	case recordLostSamples:
		lost = int(min(f.uint64(), 1<<31-1))
	case recordThrottle:
		e.throttled++
	}
	return lost, f.err("record")
}

// isFirst reports whether a sample is not that of a second event of its thread. It closes a second event.
func (e *Events) isFirst(s *Sample) bool {
	if len(e.late) == 0 {
		return true
	}
	key := threadOnCPU{s.TID, s.CPU}
	other, sampled := e.sampledBy[key]
	if !sampled || other == s.event {
		e.sampledBy[key] = s.event
		return true
	}
	newer := max(s.event, other)
	if file, late := e.late[newer]; late {
		delete(e.late, newer)
		e.files = slices.DeleteFunc(e.files, func(f int) bool { return f == file })
		unix.Close(file) //nolint:errcheck // nothing was written to it
	}
	e.sampledBy[key] = min(s.event, other)
	return s.event != newer
}

// apply notes a thread that was created or that has ended. TIDs are used again, so what is older than the
// events of a thread is about another thread, or about the time before they were opened.
func (e *Events) apply(c change) {
	if sure, known := e.threads[c.tid]; known && sure >= c.at {
		return
	}
	delete(e.threads, c.tid)
	if len(e.sampledBy) > 0 {
		for _, p := range e.processors {
			delete(e.sampledBy, threadOnCPU{c.tid, p.number})
		}
	}
	if sure, known := e.threads[c.creator]; known && c.at > sure && !c.ended {
		e.threads[c.tid] = c.at
	}
}

// Wait returns when a ring is half full, when the time is over, or with an error when the context is done. It looks at the
// rings from time to time: a thread that waits in the kernel would keep the threads of Go's scheduler busy.
func (e *Events) Wait(ctx context.Context, timeout time.Duration) error {
	if e.closed {
		return os.ErrClosed
	}
	end := time.Now().Add(timeout)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		left := time.Until(end)
		if left <= 0 || slices.ContainsFunc(e.processors, func(p processor) bool { return p.isHalfFull() }) {
			return nil
		}
		timer.Reset(min(left, e.fills()))
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// fills returns the shortest time in which samples can fill half a ring. A processor runs one thread at a time.
func (e *Events) fills() time.Duration {
	const least = time.Millisecond
	size := uint64(e.attr.Sample_stack_user) + 1<<10 // with registers, and frames of the kernel
	if len(e.processors) == 0 {
		return least
	}
	return max(least, time.Duration(uint64(len(e.processors[0].data))/2/size*e.attr.Sample))
}

// CPUTime returns the processor time that the sampled threads have used since Open, including threads that have
// ended and time in the kernel. It makes a system call for each thread and processor.
func (e *Events) CPUTime() (time.Duration, error) {
	if e.closed {
		return 0, os.ErrClosed
	}
	var sum time.Duration
	var count [8]byte
	for _, file := range e.files {
		if n, err := unix.Read(file, count[:]); err != nil || n != len(count) {
			return 0, e.obstacle(ErrUnavailable, "the counter of an event cannot be read", err)
		}
		sum += time.Duration(binary.NativeEndian.Uint64(count[:]))
	}
	return sum, nil
}

// Throttled returns how often the kernel has suspended a thread's samples because they were more than
// kernel.perf_event_max_sample_rate permits.
func (e *Events) Throttled() int { return e.throttled }

// Close ends sampling.
func (e *Events) Close() error {
	if e.closed {
		return nil
	}
	e.closed = true
	for _, file := range e.files {
		unix.Close(file) //nolint:errcheck // nothing was written to it
	}
	e.files = nil
	e.closeRings()
	if e.tasks == nil {
		return nil
	}
	return e.tasks.Close()
}

func (e *Events) closeRings() {
	for _, p := range e.processors {
		unix.Munmap(p.memory) //nolint:errcheck // it was mapped by Mmap
		unix.Close(p.file)    //nolint:errcheck // nothing was written to it
	}
	e.processors = nil
}

// now returns the time of the clock of samples.
func now() uint64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0 // this clock always exists
	}
	return uint64(t.Nano())
}

func isRefused(err error) bool { return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) }

func (e *Events) obstacle(kind error, detail string, cause error) error {
	return &Error{PID: e.pid, Kind: kind, Detail: detail, Cause: cause}
}

func (e *Events) ended(cause error) error {
	return e.obstacle(ErrEnded, "sonde ps lists the running JVMs", cause)
}

// explainOwn explains why an event of this process could not be opened: this does not depend on the target.
func (e *Events) explainOwn(err error) error {
	const paranoid = "/proc/sys/kernel/perf_event_paranoid"
	switch {
	case errors.Is(err, unix.EACCES):
		return e.obstacle(ErrParanoid, fmt.Sprintf("kernel.perf_event_paranoid is %d: sysctl kernel.perf_event_paranoid=2, or give Sonde CAP_PERFMON", readNumber(paranoid, 2)), err)
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.ENOSYS):
		return e.obstacle(ErrBlocked, "start the container with --cap-add PERFMON, or with --security-opt seccomp= and a profile that permits it", err)
	}
	return e.explain(err)
}

// explain explains why an event could not be opened although Sonde may open events of its own.
func (e *Events) explain(err error) error {
	switch {
	case isRefused(err):
		return e.obstacle(ErrPermission, "be its user or root, or give Sonde CAP_PERFMON and CAP_SYS_PTRACE", err)
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return e.obstacle(ErrFiles, fmt.Sprintf("Sonde opens one for each thread and processor, and has opened %d: raise ulimit -n", len(e.files)), err)
	}
	return e.obstacle(ErrUnavailable, "perf_event_open fails: Sonde samples with Linux 4.1 and later", err)
}

// readNumber reads a setting of the kernel.
func readNumber(path string, otherwise int) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return otherwise
	}
	number, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return otherwise
	}
	return number
}
