// Package hotspot walks the stacks of a HotSpot JVM from outside: it reads the memory of the process,
// by the descriptions of its data that HotSpot exports for debuggers. It knows the frames of compiled
// code with what is inlined in it, of the interpreter, of stubs and of native libraries. The process
// is neither stopped nor changed, so all that is read may be inconsistent or false: everything is
// bounded, and what is not certain is unknown.
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
	w.code = codeCache{memory: w.memory, layout: w.layout}
	w.methods = methods{memory: w.memory, layout: w.layout}
	if err := w.Begin(); err != nil {
		return nil, err
	}
	w.objects = objects{memory: w.memory, layout: w.layout, methods: &w.methods}
	w.objects.prepare(t)
	return w, nil
}

// Begin starts a round: what the process has replaced since the last one is read again.
func (w *Walker) Begin() error {
	w.callStub, _ = w.memory.u64(w.layout.callStubReturn.address)
	w.methods.begin()
	return w.code.begin()
}
