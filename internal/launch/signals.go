package launch

import (
	"os"
	"os/signal"
	"syscall"
)

// PassSignals passes on to the program what this process is asked by signals,
// until it is called off. What a terminal has sent to both is not sent again.
func (p *Program) PassSignals() (stop func()) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	if !signal.Ignored(syscall.SIGHUP) { // by nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
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
	}
}
