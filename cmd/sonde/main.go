// Command sonde instruments Java programs.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// Whatever asks it to end ends it in order: what it has put into a JVM goes
	// with it, and is not left to go by itself.
	endings := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT}
	if !signal.Ignored(syscall.SIGHUP) { // by nohup
		endings = append(endings, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), endings...)
	code := run(ctx, os.Args[1:], streams{out: os.Stdout, err: os.Stderr, width: terminalWidth(os.Stderr)})
	stop()
	os.Exit(code)
}
