// Command sonde instruments Java programs.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/sonde-jvm/sonde/internal/launch"
)

func main() {
	ctx, stop := untilSignal()
	code := run(ctx, os.Args[1:], streams{out: os.Stdout, err: os.Stderr, width: terminalWidth(os.Stderr)})
	stop()
	os.Exit(code)
}

// untilSignal returns a context that the first signal ends, so that a command removes
// what it has put into a JVM before it exits. The second signal ends the process at
// once: the agent then removes the hooks by itself, because its connection is closed.
func untilSignal() (ctx context.Context, stop func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	if !signal.Ignored(syscall.SIGHUP) { // by nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-signals
		cancel()
		for second := range signals {
			if launch.PassesSignals() {
				continue // they are the program's, which may need two to end
			}
			fmt.Fprintln(os.Stderr, "sonde: ended by a second signal; a JVM that still has hooks removes them by itself")
			os.Exit(128 + int(second.(syscall.Signal)))
		}
	}()
	return ctx, func() { signal.Stop(signals) }
}
