package suggest

import (
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
)

// Waits are how many threads waited in a method on average, for what.
type Waits struct {
	Blocked float64 // for a monitor or a lock that another thread has
	Network float64 // for a socket
	Files   float64
}

// waits is how many threads wait, for whatever.
func (w Waits) waits() float64 { return w.Blocked + w.Network + w.Files }

// A queue is where thread dumps show threads waiting.
type queue struct {
	dumps int
	waits map[Method]Waits // by what calls the JDK to wait; descriptors are not known
}

func newQueue() *queue { return &queue{waits: make(map[Method]Waits)} }

// What the JDK does between the program and a wait.
var (
	lockWaits = []string{
		"java/util/concurrent/locks/ReentrantLock.lock", "java/util/concurrent/locks/ReentrantLock.tryLock", "java/util/concurrent/locks/ReentrantReadWriteLock$",
		"java/util/concurrent/locks/StampedLock.", "java/util/concurrent/Semaphore.acquire", "java/util/concurrent/Semaphore.tryAcquire",
	}
	networkWaits = []string{
		"java/net/Socket", "java/net/SocketInputStream.", "sun/nio/ch/NioSocketImpl.", "sun/nio/ch/SocketChannelImpl.", "sun/nio/ch/DatagramChannelImpl.",
		"sun/nio/ch/SocketDispatcher.", "jdk/internal/net/http/HttpClientImpl.send", "jdk/internal/net/http/HttpClientFacade.send", "sun/nio/ch/Net.poll",
	}
	fileWaits = []string{
		"java/io/FileInputStream.read", "java/io/FileOutputStream.write", "java/io/RandomAccessFile.", "sun/nio/ch/FileChannelImpl.", "sun/nio/ch/FileDispatcherImpl.",
		"java/io/FileDescriptor.sync", "java/io/UnixFileSystem.", "sun/nio/fs/UnixNativeDispatcher.",
	}
	// Those that accept, or look for the next event, have nothing to do.
	idleWaits = []string{"sun/nio/ch/NioSocketImpl.accept", "java/net/ServerSocket", "sun/nio/ch/ServerSocketChannelImpl.", "sun/nio/ch/SelectorImpl."}
)

// add takes in one thread of a dump.
func (q *queue) add(s jfr.Sample) {
	var between []string // what of the JDK is below the program
	var first *Method
	for _, frame := range s.Stack.Frames {
		if frame.Method == nil {
			continue
		}
		m := methodOf(frame.Method).anyOverload()
		if first == nil && !isLibrary(m.Class) && !m.carries() && !m.isOurs() {
			first = &m
		}
		if first == nil {
			between = append(between, m.Class+"."+m.Name)
		}
	}
	if first == nil {
		return // a thread of a pool that has nothing to do
	}
	w := q.waits[*first]
	switch met := func(names []string) bool { return anyPrefix(between, names) }; {
	case s.State == blocked || isWaiting(s.State) && met(lockWaits):
		w.Blocked++
	case met(idleWaits):
		return
	case met(networkWaits):
		w.Network++
	case met(fileWaits):
		w.Files++
	default:
		return
	}
	q.waits[*first] = w
}

const blocked = "STATE_BLOCKED"

func isWaiting(state string) bool { return strings.Contains(state, "WAITING") }

func anyPrefix(names, prefixes []string) bool {
	for _, name := range names {
		if hasPrefix(name, prefixes) {
			return true
		}
	}
	return false
}

// of is what is known of a method.
func (q *queue) of(m Method) Waits {
	w := q.waits[m.anyOverload()]
	if q.dumps > 0 {
		n := float64(q.dumps)
		w.Blocked, w.Network, w.Files = w.Blocked/n, w.Network/n, w.Files/n
	}
	return w
}

// methods are those in which enough threads wait to count.
func (q *queue) methods() (found []Method) {
	for m := range q.waits {
		if q.of(m).waits() >= leastWait {
			found = append(found, m)
		}
	}
	return found
}

// take adds the dumps that came. Threads that run are in other samples.
func (q *queue) take(batch sampler.Batch) {
	for i, s := range batch.Samples {
		if i == 0 || !s.At.Equal(batch.Samples[i-1].At) { // those of one dump have one time
			q.dumps++
		}
		if isOfProgram(s) {
			q.add(s)
		}
	}
}
