package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// readyFD is where a Sonde in the background tells the one that started it that its
// set is applied.
const readyFD = 3

// readyWord is what it tells.
const readyWord = "applied\n"

// inBackground starts this program again, without a terminal, to hold the JVM, and
// waits until the set is applied.
func (c *applying) inBackground(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = read.Close() }()
	command := exec.Command(program, c.backgroundArgs()...)
	command.Stdin = bytes.NewReader(c.set.YAML())
	command.Stderr = os.Stderr // until it is ready
	command.ExtraFiles = []*os.File{write}
	command.SysProcAttr = ownSession()
	err = command.Start()
	_ = write.Close()
	if err != nil {
		return fmt.Errorf("starting a Sonde in the background: %w", err)
	}
	// Who asks this one to end before there is a result asks the other one, too.
	defer context.AfterFunc(ctx, func() { _ = command.Process.Signal(os.Interrupt) })()
	word, err := io.ReadAll(read)
	if err != nil || string(word) != readyWord {
		return c.backgroundFailure(ctx, command.Wait())
	}
	pid := command.Process.Pid
	if err := command.Process.Release(); err != nil {
		return err
	}
	if c.json {
		return writeJSON(c.out, map[string]any{"pid": c.pid, "applied": true, "sonde": pid})
	}
	_, err = fmt.Fprintf(c.out, "process %d of Sonde holds process %d: sonde apply %d shows it, sonde apply --end %d ends it\n", pid, c.pid, c.pid, c.pid)
	return err
}

func (c *applying) backgroundArgs() []string {
	args := []string{"apply", strconv.Itoa(c.pid), "--file", "-", "--title", c.title, "--ready"}
	if c.duration > 0 {
		args = append(args, "--for", c.duration.String())
	}
	for _, path := range c.outputs {
		args = append(args, "--output", path)
	}
	if c.keep != usualKeep {
		args = append(args, "--keep", strconv.Itoa(c.keep))
	}
	if c.force {
		args = append(args, "--force")
	}
	if c.listLeft {
		args = append(args, "--left")
	}
	return append(args, c.cache.args()...)
}

// backgroundFailure is for one that has ended without having applied the set. It has
// said why.
func (c *applying) backgroundFailure(ctx context.Context, err error) error {
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted: the Sonde in the background has ended")
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exitStatus(exit.ExitCode())
	}
	return fmt.Errorf("the Sonde in the background has ended before the set was applied: %w", errors.Join(err, os.ErrProcessDone))
}

// tellReady tells the Sonde that waits, and lets go of its terminal.
func tellReady() error {
	const patience = 5 * time.Second
	ready := os.NewFile(readyFD, "ready")
	if ready == nil {
		return errors.New("nobody waits on descriptor 3: --ready is for Sonde itself")
	}
	_ = ready.SetWriteDeadline(time.Now().Add(patience)) // files that know no deadline do not block
	if err := leaveTerminal(); err != nil {
		return err
	}
	_, err := io.WriteString(ready, readyWord)
	return errors.Join(err, ready.Close())
}
