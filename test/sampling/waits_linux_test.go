package sampling

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/hotspot"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// TestWaits looks at threads that wait: for what, in which methods, and who has the locks.
func TestWaits(t *testing.T) {
	classes := compile(t, "Waits")
	want := map[string]jfr.Wait{
		"monitor": jfr.Monitor, "blocked": jfr.Monitor, "notification": jfr.Notification, "sleep": jfr.Sleeping, "park": jfr.Parked, "lock": jfr.Parked,
		"accept": jfr.IO, "select": jfr.IO, "join": jfr.Parked, "deep": jfr.Sleeping,
	}
	locks := map[string]string{
		"monitor": "java/lang/Object, held by main in Waits.main", "lock": "java/util/concurrent/locks/ReentrantLock$NonfairSync, held by main in Waits.main",
		"blocked": "java/lang/StringBuilder, held by keeper in Waits.busy", "join": "java/util/concurrent/CountDownLatch$Sync",
	}
	for _, jdk := range sampled(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			args := []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xss8m", "-cp", jvmtest.Visible(t, jdk, classes), "Waits"}
			p := jvmtest.Start(t, jdk, jvmtest.Launch{Args: args})
			got := map[string]jfr.Sample{}
			isWait := func(s jfr.Sample) bool { return s.Source == jfr.WallClock }
			collect(t, p.PID, sampler.Options{Source: sampler.Kernel, Waiting: true}, func(samples []jfr.Sample, _ time.Duration) bool {
				for _, s := range slices.DeleteFunc(slices.Clone(samples), func(s jfr.Sample) bool { return !isWait(s) }) {
					isRunning := s.Thread.Name == "blocked" // the holder, which was perhaps not sampled yet
					if want[s.Thread.Name] == s.Wait && !(isRunning && (s.Lock == nil || s.Lock.Held == nil)) {
						got[s.Thread.Name] = s
					}
					if s.Thread.Name == "busy" {
						t.Errorf("a thread that does not wait waits:\n%s", text(&s))
						return true
					}
				}
				return len(got) == len(want)
			})
			for name, s := range got {
				frames := slices.DeleteFunc(slices.Clone(s.Stack.Frames), func(f jfr.Frame) bool { return f.Method.Class != "Waits" || f.Method.Name != name })
				depth := 1
				if name == "deep" {
					depth = 2001
				}
				last := s.Stack.Frames[len(s.Stack.Frames)-1].Method
				if s.Stack.Broken || s.Stack.Truncated || len(frames) != depth || last.Class != "java/lang/Thread" || last.Name != "run" {
					t.Errorf("%s: want %d times its method, and a complete stack, got\n%s", name, depth, text(&s))
				}
				if lock := lockText(s.Lock); lock != locks[name] {
					t.Errorf("%s waits for %q, want %q", name, lock, locks[name])
				}
			}
		})
	}
}

// lockText returns what a thread waits for, and the method of the program in which the holder is.
func lockText(lock *jfr.Lock) string {
	if lock == nil {
		return ""
	}
	text := lock.Class
	if lock.Holder != nil {
		text += ", held by " + lock.Holder.Name
	}
	if lock.Held == nil {
		return text
	}
	of := slices.IndexFunc(lock.Held.Frames, func(f jfr.Frame) bool { return f.IsJava() && f.Method.Class == "Waits" })
	if of < 0 {
		return text
	}
	return text + " in Waits." + lock.Held.Frames[of].Method.Name
}

// TestAllocated compares what Sonde reads from a JVM's memory with what the JVM itself says.
func TestAllocated(t *testing.T) {
	classes := compile(t, "Allocates")
	for _, jdk := range sampled(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			p := jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{"-cp", jvmtest.Visible(t, jdk, classes), "Allocates"}})
			_, said, _ := strings.Cut(p.Stdout(), "allocated ")
			var want uint64
			if _, err := fmt.Sscan(said, &want); err != nil {
				t.Fatal(err)
			}
			libraries, err := hotspot.OpenLibraries(p.PID)
			if err != nil {
				t.Fatal(err)
			}
			walker, err := hotspot.NewWalker(hotspot.ProcessMemory{PID: p.PID}, libraries)
			if err != nil {
				t.Fatal(err)
			}
			threads := walker.Threads()
			at := slices.IndexFunc(threads, func(one hotspot.Thread) bool { return one.Name == "allocator" })
			if at < 0 || threads[at].Allocated != want {
				t.Errorf("got %+v, want a thread that has allocated %d bytes", threads, want)
			}
		})
	}
}
