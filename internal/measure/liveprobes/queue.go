package liveprobes

import (
	"slices"
	"strings"
	"sync"

	"github.com/sonde-jvm/sonde/classfile"
)

// A queue keeps classes that load while a set is compiled, which may take seconds: no
// thread of the program waits for that. It knows which spots have conditions that such a
// class may make wrong, as those have to be off before it is used.
type queue struct {
	lock       sync.Mutex
	isOpen     bool
	classes    []queued
	dependents map[string][]uint32 // spots that depend on what is below a class, by its name
	off        map[uint32]bool     // those of them that a class in the queue has to do with
}

// A queued class.
type queued struct {
	name string
	file []byte
}

// put reports whether the class waits in the queue now, and which spots must be off until
// somebody has looked at it.
func (q *queue) put(name string, file []byte) (isQueued bool, off []uint32) {
	q.lock.Lock()
	defer q.lock.Unlock()
	if !q.isOpen {
		return false, nil
	}
	q.classes = append(q.classes, queued{strings.Clone(name), slices.Clone(file)})
	if len(q.dependents) == 0 {
		return true, nil
	}
	parsed, err := classfile.Parse(file)
	if err != nil {
		return true, nil // the JVM will not load it
	}
	for _, parent := range parents(parsed) {
		off = append(off, q.dependents[parent]...)
	}
	for _, id := range off {
		q.off[id] = true
	}
	if len(off) > 0 { // what is below it is below the other
		q.dependents[strings.Clone(name)] = off
	}
	return true, off
}

func (q *queue) open() {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.isOpen, q.off = true, make(map[uint32]bool)
}

// take gives what is in the queue, and which spots are off for it. Where that is nothing
// the queue is closed.
func (q *queue) take() (classes []queued, off map[uint32]bool) {
	q.lock.Lock()
	defer q.lock.Unlock()
	classes = q.classes
	q.classes, q.isOpen = nil, len(classes) > 0
	return classes, q.off
}

// depend notes that a spot depends on what is below a class.
func (q *queue) depend(id uint32, class string) {
	q.lock.Lock()
	defer q.lock.Unlock()
	if q.dependents == nil {
		q.dependents = make(map[string][]uint32)
	}
	if !slices.Contains(q.dependents[class], id) {
		q.dependents[class] = append(q.dependents[class], id)
	}
}

// forget has no spot depend on anything.
func (q *queue) forget() {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.dependents = nil
}
