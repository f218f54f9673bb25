package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// outliveReader has a reader that goes away, as head does, not kill the command with
// hooks, or a recording, in the JVM: what it writes then fails, and it leaves in order.
// The function ends that.
func outliveReader() (end func()) {
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, syscall.SIGPIPE)
	return func() { signal.Stop(unread) }
}
