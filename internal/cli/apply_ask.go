package cli

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
)

// confirm asks a question on the terminal. Where there is none nobody could answer:
// what was asked for by a script is done.
func confirm(ctx context.Context, s streams, question string) bool {
	if s.width == 0 || !term.IsTerminal(int(os.Stdin.Fd())) {
		return true
	}
	_, _ = fmt.Fprintf(s.err, "%s [y/N] ", question)
	answered := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(os.Stdin).ReadString('\n') // none is no
		answered <- line
	}()
	select {
	case <-ctx.Done():
		_, _ = fmt.Fprintln(s.err)
		return false
	case line := <-answered:
		return isYes(line)
	}
}

func isYes(line string) bool {
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true
	}
	return false
}
