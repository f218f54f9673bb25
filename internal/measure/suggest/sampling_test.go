package suggest

import (
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
)

// waiting is a thread of a dump, by its state and its methods, the innermost first.
func waiting(at int, state string, methods ...string) jfr.Sample {
	s := jfr.Sample{At: time.Unix(int64(at), 0), State: state, Thread: &jfr.Thread{Name: "worker"}, Stack: &jfr.Stack{}}
	for i := 0; i < len(methods); i += 2 {
		s.Stack.Frames = append(s.Stack.Frames, jfr.Frame{Method: &jfr.Method{Class: methods[i], Name: methods[i+1]}})
	}
	return s
}

func TestWhereThreadsWait(t *testing.T) {
	const park = "jdk/internal/misc/Unsafe"
	q := newQueue()
	for at := range 10 {
		samples := []jfr.Sample{
			waiting(at, "STATE_BLOCKED", "shop/Stock", "take", "shop/Checkout", "place"),
			waiting(at, "STATE_WAITING", park, "park", "java/util/concurrent/locks/ReentrantLock", "lock", "shop/Stock", "put"),
			waiting(at, "STATE_WAITING", park, "park", "java/util/concurrent/LinkedBlockingQueue", "take", "java/util/concurrent/ThreadPoolExecutor", "getTask"),
			waiting(at, sampler.StateRunnable, "sun/nio/ch/SocketDispatcher", "read0", "sun/nio/ch/NioSocketImpl", "read", "shop/Client", "ask"),
			waiting(at, sampler.StateRunnable, "sun/nio/ch/Net", "accept", "sun/nio/ch/NioSocketImpl", "accept", "shop/Server", "serve"),
			waiting(at, sampler.StateRunnable, "shop/Sum", "add"),
		}
		if at%2 == 0 {
			samples = append(samples, waiting(at, sampler.StateRunnable, "java/io/FileInputStream", "readBytes", "java/io/FileInputStream", "read", "shop/Log", "read"))
		}
		samples[5].Thread = &jfr.Thread{Name: "sonde-work"}
		q.take(sampler.Batch{Samples: samples})
	}
	for method, want := range map[classfile.MethodRef]Waits{
		ref("shop/Stock", "take", "(I)V"): {Blocked: 1}, ref("shop/Stock", "put", ""): {Blocked: 1}, ref("shop/Client", "ask", "()V"): {Network: 1},
		ref("shop/Log", "read", ""): {Files: 0.5}, ref("shop/Server", "serve", ""): {}, ref("shop/Checkout", "place", ""): {},
	} {
		if got := q.of(method); got != want {
			t.Errorf("%v: %+v, want %+v", method, got, want)
		}
	}
	if got := len(q.methods()); got != 4 {
		t.Errorf("%d methods: %v", got, q.methods())
	}
}
