package launch

import (
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// passing counts the programs that signals are passed on to. Signals belong to the whole
// process, and so does this.
var passing atomic.Int32

// PassesSignals reports whether signals are passed on to a program.
func PassesSignals() bool { return passing.Load() > 0 }

// PassSignals passes on to the program what this process is asked by signals,
// until it is called off. What a terminal has sent to both is not sent again.
func (p *Program) PassSignals() (stop func()) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	if !signal.Ignored(syscall.SIGHUP) { // by nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	passing.Add(1)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case caught := <-signals:
				typed := caught == syscall.SIGINT || caught == syscall.SIGQUIT
				if !typed || !hasTerminal() {
					p.Signal(caught)
				}
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
		passing.Add(-1)
	}
}
