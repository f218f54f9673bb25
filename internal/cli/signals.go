// Package cli is the command line of Sonde: its commands, their flags, what they print
// and their exit codes.
package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/sonde-jvm/sonde/internal/jvm/launch"
)

// Main runs a command line of this process until it ends or a signal comes, and returns
// the exit code.
func Main(args []string) int {
	ctx, stop := untilSignal()
	defer stop()
	return run(ctx, args, streams{out: os.Stdout, err: os.Stderr, width: terminalWidth(os.Stderr)})
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
