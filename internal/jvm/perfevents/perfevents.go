// Package perfevents samples the threads of a process from outside, with perf_event_open and the kernel's
// software processor clock. Nothing enters the process.
//
// # Events and rings
//
// A user who is not root may lock about 516 KiB for each processor (kernel.perf_event_mlock_kb), so there is no
// memory for a ring of each thread. Each thread has one event for each processor, and all events of a processor
// write into the ring of that processor. The ring belongs to an event of Sonde itself that counts nothing, so
// it does not depend on the life of any thread.
//
// # Threads that start later
//
// Events are inherited: a thread created by a thread with events has them too, from its first instruction. Only
// two kinds of threads need events of their own: threads that exist before the first event is opened, and threads
// whose creator did not yet have all its events. The kernel writes a FORK record when a thread with events
// creates a thread. Such a record proves that the new thread has inherited all events, if its creator had
// them for some time (sureAfter): the kernel copies the events some time before it writes the record. Events
// are also opened for a thread that two listings of /proc show without this proof. Records can be lost, or come
// late if the creator is interrupted, so that such a thread can have two events on one processor. Samples contain
// the number of the event that was opened, so a thread sampled by two events is noticed, and the newer event is closed.
//
// An event must stay open when its thread has ended: closing it would also close the events of the threads that inherited it.
//
// # Time in the kernel
//
// A user without privileges may not sample the kernel (kernel.perf_event_paranoid is 2). The clock then still runs
// while a thread is in a system call, but its ticks are dropped: no sample is late or has a longer period, so the
// time in the kernel is missing from the samples. Events.KernelExcluded reports this. The counters of events
// include the time in the kernel, so Events.CPUTime minus the sum of the periods is the missing time.
//
// Processors that go online after Open are not sampled.
package perfevents

import (
	"errors"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// Options select what a sample contains.
type Options struct {
	Frequency int  // samples for each second of processor time of each thread
	Stack     int  // bytes of stack copied with each sample: a multiple of 8, less than 64 KiB
	Kernel    bool // with kernel frames, if this user may sample the kernel
}

// A Sample is one interruption of a running thread. Stack and Kernel are valid only until the function that
// received the sample returns.
type Sample struct {
	TID          int
	At           time.Duration // CLOCK_MONOTONIC
	CPU          int
	Period       time.Duration         // the processor time that it stands for
	Registers    [registerCount]uint64 // of the thread outside of the kernel, in the kernel's order (asm/perf_regs.h)
	HasRegisters bool                  // false for a thread that is not in 64-bit mode or has left user mode for ever
	Stack        []byte                // from the stack pointer upward, as far as it was in memory
	Kernel       []uint64              // instruction pointers in the kernel, innermost first

	event uint64 // number of the event that was opened
	pid   int
}

// DWARF returns the registers in the order of their DWARF numbers; the instruction pointer is the last.
func (s *Sample) DWARF() (registers [registerCount]uint64) {
	for number, place := range dwarfOrder {
		registers[number] = s.Registers[place]
	}
	return registers
}

// The kinds of errors. Each text is the beginning of an error's line; the remedy follows.
var (
	ErrEnded       = errors.New("it has ended")
	ErrPermission  = errors.New("this user may not sample it")
	ErrParanoid    = errors.New("the kernel does not permit this user to sample")
	ErrBlocked     = errors.New("this system or container blocks perf_event_open")
	ErrFiles       = errors.New("sampling it needs too many open files")
	ErrMemory      = errors.New("the kernel does not permit this user to lock memory for samples")
	ErrMalformed   = errors.New("the kernel wrote a record that Sonde cannot read")
	ErrUnavailable = errors.New("this system cannot sample it")
)

// An Error is one line: the process, the problem and the remedy. It wraps one of the errors above.
type Error = process.Obstacle
