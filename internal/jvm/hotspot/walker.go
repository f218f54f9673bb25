// Package hotspot walks the stacks of a HotSpot JVM from outside: it reads the memory of the process,
// with the descriptions of HotSpot's data structures (vmStructs) that libjvm.so exports for debuggers. It decodes frames of compiled
// code (with inlined methods), of the interpreter, of stubs and of native libraries. The process
// is neither stopped nor changed, so what it reads may be inconsistent or wrong: every loop and read is
// bounded, and what is uncertain is reported as unknown.
package hotspot

import (
	"errors"
	"runtime"
)

// ErrMemory is a process whose memory this user may not read.
var ErrMemory = errors.New("its memory cannot be read")

// A Walker walks the stacks of one JVM. It is not safe for concurrent use.
type Walker struct {
	memory   space
	rounds   rounds
	layout   *layout
	machine  machine
	code     codeCache
	methods  methods
	natives  natives
	objects  objects
	callStub uint64
}

// NewWalker prepares to walk the stacks of a process.
func NewWalker(memory Memory, libraries Libraries) (*Walker, error) {
	w := &Walker{memory: space{memory}, machine: amd64}
	if runtime.GOARCH == "arm64" {
		w.machine = arm64
	}
	w.natives.libraries = libraries
	t, err := readTables(w.memory, libraries.Exported)
	if err != nil {
		return nil, err
	}
	if w.layout, err = newLayout(w.memory, t); err != nil {
		return nil, err
	}
	w.rounds = rounds{memory: w.memory}
	w.rounds.findCounters(t)
	w.code = codeCache{rounds: &w.rounds, layout: w.layout}
	w.methods = methods{rounds: &w.rounds, layout: w.layout}
	w.objects = objects{memory: w.memory, layout: w.layout}
	w.objects.prepare(t)
	return w, w.Begin()
}

// Begin starts a round of samples. All samples of a round must have been taken after the begin of the
// round before, and must be walked before the next one begins.
func (w *Walker) Begin() error {
	w.rounds.begin()
	w.callStub, _ = w.memory.u64(w.layout.callStubReturn.address)
	w.methods.begin()
	return w.code.begin()
}
