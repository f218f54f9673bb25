// Package cli is the command line of Sonde: its commands, their flags, what they print
// and their exit codes.
package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sonde-jvm/sonde/internal/classes/archive"
	"github.com/sonde-jvm/sonde/internal/jvm/launch"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// Main runs a command line of this process until it ends or a signal comes, and returns
// the exit code.
func Main(args []string) int {
	code, next := runInTerminal(args)
	for next != nil {
		_, _ = fmt.Fprintf(os.Stderr, "\n%s\n", commandLine(next[0], next[1:]))
		code, next = runInTerminal(next)
	}
	return code
}

// runInTerminal runs a command line, and returns the command line that the user has chosen to run next; nil
// for none.
func runInTerminal(args []string) (code int, next []string) {
	view := newView()
	defer view.leave() // also if it panics
	ctx, stop := untilSignal(view.leave)
	defer stop()
	code = run(ctx, args, streams{
		in: os.Stdin, out: os.Stdout, err: messages{os.Stderr}, width: terminalWidth(os.Stderr), view: view, useService: os.Getenv(serviceVariable) != serviceOff,
	})
	view.leave()
	if noService := "--" + noServiceFlag; view.next != nil && slices.Contains(args, noService) {
		return code, slices.Insert(view.next, 1, noService)
	}
	return code, view.next
}

// untilSignal returns a context that the first signal cancels, so that a command can remove
// its hooks before it exits. The second signal restores the terminal and ends the process at
// once: the agent then removes the hooks by itself, because its connection is closed.
func untilSignal(restore func()) (ctx context.Context, stop func()) {
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
				continue // signals go to the program, which may need two
			}
			restored := make(chan struct{})
			go func() {
				defer close(restored)
				restore()
			}()
			select {
			case <-restored:
			case <-time.After(time.Second): // the terminal takes nothing
			}
			fmt.Fprintln(os.Stderr, "sonde: ended by a second signal; hooks that are still in the JVM are removed without this command")
			os.Exit(128 + int(second.(syscall.Signal)))
		}
	}()
	return ctx, func() { signal.Stop(signals) }
}

const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
	exitGoal  = 3 // a condition of monitor --fail-if holds
	// exitUnread is what shells report for a command that SIGPIPE has ended.
	exitUnread = 128 + int(syscall.SIGPIPE)
)

// streams are the input and the outputs of a command, and where it runs.
type streams struct {
	in       io.Reader
	out, err io.Writer
	width    int   // columns of err; 0 if it is no terminal
	view     *view // the terminal of the user; nil if there is none, or if the command runs in the service

	useService bool        // live commands run in the service
	look       *hostedLook // nil unless the command runs in the service
	beside     *hostedLook // the command in the service that it runs for, if any
	isCheck    bool        // the command line is only checked
	isYes      bool        // questions of a look are answered with yes
}

// outWidth returns the columns of out; 0 if it is no terminal.
func (s streams) outWidth() int {
	if s.look != nil {
		return s.look.Terminal().Width
	}
	if file, ok := s.out.(*os.File); ok {
		return terminalWidth(file)
	}
	return 0
}

func (s streams) print(write func(out io.Writer)) error {
	var text bytes.Buffer
	write(&text)
	_, err := io.WriteString(s.out, format.WrapLines(text.String(), s.outWidth()))
	return err
}

// writeResult writes a document with --json, and otherwise the text.
func (s streams) writeResult(asJSON bool, d any, writeText func(out io.Writer)) error {
	if asJSON {
		return document.Write(s.out, d)
	}
	return s.print(writeText)
}

func (s streams) note(text string) { _, _ = fmt.Fprintf(s.err, "note: %s\n", format.Printable(text)) }

// A usageError says what is wrong with a command line.
type usageError struct{ cause error }

func (e *usageError) Error() string { return e.cause.Error() }
func (e *usageError) Unwrap() error { return e.cause }

func usage(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

func run(ctx context.Context, args []string, s streams) int {
	started := false
	root := newRoot(s, &started)
	addBash(root)
	root.SetArgs(args)
	if help := root.HelpFunc(); isShortHelp(args) {
		root.SetHelpFunc(func(command *cobra.Command, args []string) {
			if !command.Runnable() {
				help(command, args)
				return
			}
			writeShortHelp(s.out, command)
		})
	}
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = errors.New("interrupted before there was a result")
	}
	if errors.Is(err, syscall.EPIPE) {
		return exitUnread
	}
	var ended exitStatus
	if errors.As(err, &ended) {
		return int(ended)
	}
	var wrong *usageError
	// An error before the command starts is about the command line.
	if errors.As(err, &wrong) || !started {
		_, _ = fmt.Fprintf(s.err, "sonde: %s%s\n%sTry '%s --help'.\n", format.OneLine(err), nearCommand(root, args), caret(err), command.CommandPath())
		return exitUsage
	}
	_, _ = fmt.Fprintf(s.err, "sonde: %s\n%s", format.OneLine(err), caret(err))
	return exitError
}

// nearCommand suggests an existing command for an unknown one.
func nearCommand(root *cobra.Command, args []string) string {
	if len(args) == 0 {
		return ""
	}
	if _, _, err := root.Find(args); err == nil {
		return ""
	}
	for distance := range max(1, min(2, len(args[0])/2)) {
		root.SuggestionsMinimumDistance = distance + 1
		if near := root.SuggestionsFor(args[0]); len(near) > 0 {
			return "; did you mean " + strings.Join(near, " or ") + "?"
		}
	}
	return ""
}

const durationWanted = "a time, such as 30s, 500ms, 2m or a number of seconds"

// badValue matches the error of the flag library about a value.
var badValue = regexp.MustCompile(`^invalid argument ("(?:.|\n)*") for ".*?--([a-z-]+)" flag: `)

// flagError says what the value of a flag must be, in place of the error of the library.
func flagError(command *cobra.Command, err error) error {
	refused := badValue.FindStringSubmatch(err.Error())
	if refused == nil {
		return err
	}
	flag := command.Flags().Lookup(refused[2])
	if flag == nil {
		return err
	}
	wanted := map[string]string{
		"bool":     "true or false",
		"duration": durationWanted,
		"uint64":   "a whole number, at least 0",
	}[flag.Value.Type()]
	if value, is := flag.Value.(interface{ wanted() string }); is {
		wanted = value.wanted()
	}
	if wanted == "" {
		return err
	}
	return usage("--%s %s: must be %s", flag.Name, refused[1], wanted)
}

func newRoot(s streams, started *bool) *cobra.Command {
	root := &cobra.Command{
		Use:   "sonde",
		Short: "Instrument Java programs",
		Long: `Sonde shows what running Java programs do: it puts hooks into any method of any
class, while the program runs or in its files, and removes them again.

For a running program, start with:
  sonde ps
  sonde calls 4711
  sonde hot 4711
  sonde walk 4711
  sonde count 4711 'com.acme.**'
  sonde monitor 4711 com.acme.Order.pay
  sonde trace 4711 com.acme.Shop.checkout --slower-than 200ms
  sonde drill 4711 com.acme.Shop.checkout --slower-than 200ms
  sonde find 4711 Order
  sonde callees 4711 com.acme.Shop.checkout
  sonde profile 4711 --root com.acme.Shop.checkout -o checkout.html
  sonde apply 4711 -f probes.yaml
For files:
  sonde plan app.jar -f probes.yaml
  sonde pack app.jar -f probes.yaml -o app.pack
  sonde instrument app.jar -o app-timed.jar --template timed --match 'com.acme.**'
  sonde dump app.jar --method com.acme.Order.pay --diff app-timed.jar`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		PersistentPreRunE: func(command *cobra.Command, args []string) error {
			if err := resolveName(command, args); err != nil {
				return err
			}
			*started = true
			return nil
		},
		Version: fmt.Sprintf("%s %s %s/%s", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH), // newVersion prints it, too
		RunE: func(command *cobra.Command, _ []string) error {
			if s.outWidth() == 0 {
				return command.Help()
			}
			return start(command.Context(), s)
		},
	}
	root.SetVersionTemplate("sonde {{.Version}}\n")
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(flagError)
	root.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(cmp.Or(formerFlags[name], name))
	})
	root.DisableSuggestions = true     // they take lines: nearCommand has one
	cobra.EnableCommandSorting = false // the most useful command of a group is the first
	for _, g := range groups(s) {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, command := range g.commands {
			command.GroupID = g.title
			root.AddCommand(command)
		}
	}
	root.SetHelpCommandGroupID(otherCommands)
	root.AddCommand(newTopics()...)
	refuseUnknownTopics(root)
	for _, command := range root.Commands() {
		if kindOf(command.Name()) != nil {
			addServiceFlags(command)
		}
		addCompletions(command)
		for _, below := range command.Commands() {
			addCompletions(below)
		}
		if slices.Contains(hostCommands, command.Name()) {
			command.Flags().Bool(noServiceFlag, false, "do not use the service, even if it is running")
		}
		if command.Runnable() && !strings.Contains(command.Long, "xit code") { // then it has its own
			command.Long += exitCodes
			if slices.Contains(patternCommands, command.Name()) {
				command.Long += noHookNoResult
			}
		}
	}
	return root
}

// formerFlags are names that flags had before, and still have.
var formerFlags = map[string]string{"for": "duration", "file": probesFlag}

// A group is a part of the list of commands.
type group struct {
	title    string
	commands []*cobra.Command
}

const otherCommands = "Other"

func groups(s streams) []group {
	return []group{
		{"Find out", []*cobra.Command{newPs(s), newCalls(s), newHot(s), newWalk(s), newDrill(s), newProfile(s), newTrace(s), newDiff(s), newConvert(s)}},
		{"Measure chosen methods", []*cobra.Command{newCount(s), newMonitor(s), newFind(s), newCallees(s), newObserve(s), newApply(s), newSave(s)}},
		{"Manage what is running", []*cobra.Command{newDoctor(s), newStatus(s), newAttach(s), newUndo(s), newLooks(s), newShow(s), newEnd(s), newServe(s)}},
		{"Start programs with Sonde", []*cobra.Command{newLaunch(s), newEnv(s), newAgentJar(s), newPlan(s), newPack(s), newReport(s)}},
		{"Work on class files", []*cobra.Command{newTemplate(s), newInstrument(s), newRuntimeJar(s), newDump(s), newCache(s)}},
		{otherCommands, []*cobra.Command{newVersion(s), newMan()}},
	}
}

const (
	exitCodes      = "\n\nExit code: 0 if there is a result, 1 if there is none or on an error, 2 for an invalid command\nline or file of probes."
	noHookNoResult = " If no method that matches has got a hook by the end, there is no result."
)

// patternCommands put hooks into the methods that patterns match.
var patternCommands = []string{"count", "profile", "trace", "apply"}

// A checkedCommand checks its command line before it does anything.
type checkedCommand interface {
	// check reads the arguments. given reports whether a flag was given.
	check(args []string, given func(flag string) bool) error
	// delegate makes the service run the command, if it can, and reports whether it has.
	delegate(cmd *cobra.Command, args []string) (done bool, err error)
	run(ctx context.Context) error
}

func checkAndRun(c checkedCommand) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := c.check(args, cmd.Flags().Changed); err != nil {
			return err
		}
		if done, err := c.delegate(cmd, args); done || err != nil {
			return err
		}
		return c.run(cmd.Context())
	}
}

func processNumber(text string) (int, error) {
	pid, err := strconv.Atoi(text)
	if err != nil || pid <= 0 {
		return 0, usage("%q is not a process number: sonde ps lists JVMs", text)
	}
	return pid, nil
}

// atLeast requires arguments; further ones are allowed.
func atLeast(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return usage("%s is missing", names[len(args)])
		}
		return nil
	}
}

// exactly requires arguments and no more.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > len(names) {
			return usage("unexpected argument %q", args[len(names)])
		}
		return atLeast(names...)(cmd, args)
	}
}

// atMost allows arguments, and no more.
func atMost(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > len(names) {
			return usage("unexpected argument %q", args[len(names)])
		}
		return nil
	}
}

// ignoreBrokenPipe ignores SIGPIPE so that `sonde … | head` can remove its hooks or its
// recording before it exits: writes fail instead. The returned function undoes that.
func ignoreBrokenPipe() (end func()) {
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, syscall.SIGPIPE)
	return func() { signal.Stop(unread) }
}

func newVersion(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of sonde",
		Args:  exactly(),
		RunE: func(command *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(s.out, "sonde %s\n", command.Root().Version)
			return err
		},
	}
}

// release is the version of a released binary; the linker sets it.
var release string

// version returns the version of a release, of the module, or the commit of a build from a checkout.
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value[:min(12, len(setting.Value))]
		}
	}
	return "devel"
}

// checkOutputs checks that files can be written, before there is anything to write.
func checkOutputs(paths []string, check func(path string) error) error {
	for _, path := range paths {
		if err := check(path); err != nil {
			return &usageError{fmt.Errorf("-o %w", err)}
		}
		if err := checkWritable(path); err != nil {
			return err
		}
	}
	return nil
}

// checkWritable checks that a file can be written, without changing anything.
func checkWritable(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	fresh := err == nil
	if errors.Is(err, fs.ErrExist) {
		file, err = os.OpenFile(path, os.O_WRONLY, 0)
	}
	if err != nil {
		return outputError(path, err)
	}
	if err := file.Close(); err != nil || !fresh {
		return err
	}
	return os.Remove(path)
}

func outputError(path string, err error) error {
	switch info, problem := os.Stat(path); {
	case problem == nil && info.IsDir():
		return &archive.OutputError{Path: path, Detail: "is a directory: name the file to write"}
	case errors.Is(err, fs.ErrNotExist):
		return &archive.OutputError{Path: path, Detail: "cannot be written: its directory does not exist"}
	}
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return &archive.OutputError{Path: path, Detail: fmt.Sprintf("cannot be written (%v): name another file with -o", err)}
}

// writeOutputs writes files. The returned function reports which were written; it is called
// at the end, where it is read.
func (s streams) writeOutputs(paths []string, write func(path string) error) (reportWritten func(), err error) {
	var failed []error
	var written []string
	for _, path := range paths {
		if err := write(path); err != nil {
			failed = append(failed, err)
			continue
		}
		written = append(written, filepath.Clean(path))
	}
	reportWritten = func() {
		if len(written) > 0 {
			_, _ = fmt.Fprintf(s.err, "wrote %s\n", strings.Join(written, ", "))
		}
	}
	return reportWritten, errors.Join(failed...)
}
