package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/probe"
)

// Exit codes.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// streams are what a command writes to.
type streams struct {
	out, err io.Writer
	width    int // columns of the terminal err is, 0 where it is none
}

// outWidth is the number of columns of the terminal out is, 0 where it is none.
func (s streams) outWidth() int {
	if file, ok := s.out.(*os.File); ok {
		return terminalWidth(file)
	}
	return 0
}

// usageError is a command line that asks for nothing that can be done.
type usageError struct{ cause error }

func (e *usageError) Error() string { return e.cause.Error() }
func (e *usageError) Unwrap() error { return e.cause }

func usage(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// caret points at what is wrong with a pattern, where that is the matter.
func caret(err error) string {
	var bad *probe.PatternError
	if !errors.As(err, &bad) {
		return ""
	}
	return "  " + strings.ReplaceAll(bad.Caret(), "\n", "\n  ") + "\n"
}

// run executes a command line and returns its exit code.
func run(ctx context.Context, args []string, s streams) int {
	started := false
	root := newRoot(s, &started)
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = errors.New("interrupted; nothing was written")
	}
	var wrong *usageError
	// What fails before a command starts is the command line itself.
	if errors.As(err, &wrong) || !started {
		_, _ = fmt.Fprintf(s.err, "sonde: %s\n%sTry '%s --help'.\n", oneLine(err), caret(err), command.CommandPath())
		return exitUsage
	}
	_, _ = fmt.Fprintf(s.err, "sonde: %s\n", oneLine(err))
	return exitError
}

// oneLine is the text of an error without line breaks.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

func newRoot(s streams, started *bool) *cobra.Command {
	root := &cobra.Command{
		Use:   "sonde",
		Short: "Instrument Java programs",
		Long: `Sonde instruments Java programs: it splices code of yours, or of its own,
around any method of any class, in files or in programs that run.

Start with, for a program that runs:
  sonde ps
  sonde count 4711 'com.acme.**'
and for files:
  sonde instrument app.jar -o app-timed.jar --template timed --match 'com.acme.**'
  sonde dump app.jar --method com.acme.Order.pay --diff app-timed.jar`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		PersistentPreRun:  func(*cobra.Command, []string) { *started = true },
	}
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.AddCommand(
		newPs(s), newDoctor(s), newCount(s), newStatus(s), newUndo(s), newAgentJar(s),
		newInstrument(s), newDump(s), newRuntimeJar(s), newVersion(s),
	)
	return root
}

// processNumber reads the argument that names a JVM.
func processNumber(text string) (int, error) {
	pid, err := strconv.Atoi(text)
	if err != nil || pid <= 0 {
		return 0, usage("%q is no process number: sonde ps lists the JVMs there are", text)
	}
	return pid, nil
}

// atLeast demands a number of arguments at least, named in the error.
func atLeast(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return usage("%s is missing", names[len(args)])
		}
		return nil
	}
}

// exactly demands a number of arguments, named in the error.
func exactly(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return usage("%s is missing", names[len(args)])
		}
		if len(args) > len(names) {
			return usage("unexpected argument %q", args[len(names)])
		}
		return nil
	}
}
