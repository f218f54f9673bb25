package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/jvm/launch"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

const launchLong = `Start a Java program with Sonde's agent in it. The agent does nothing until a
sonde command names the program; then Sonde enters without attaching, also where
that is forbidden, and without the warnings newer JDKs print about it.

Where the command is java, or a path that ends in /java, the option for it is put
in; any other command gets it by the variable JAVA_TOOL_OPTIONS, of which each
JVM it starts says one line on its error stream. The program must run as the user
who starts it. It has the streams of this command, gets the signals sent to it,
and its exit code is this command's. Processes that the command leaves running in
the background are named when it ends (the variable SONDE_RUN marks them); JVMs
that they start get the agent, too.

The agent's jar is kept with this user's data ($XDG_DATA_HOME or ~/.local/share), or
in --agent-dir, so that each of these JVMs finds it. Other users must not be able to
write there.

With --hold the program waits before its first instruction, so that nothing of it
is missed: until sonde count or sonde profile has its hooks in, or this command or
30 s are over (--hold=2m for another time). sonde profile --start does both at once.

With --probes the program is watched from its first instruction to its end as the
file says (sonde apply --help). What was measured is told on the error stream;
meanwhile sonde apply PID shows it, and sonde apply PID -f changes what is wanted.`

func newLaunch(s streams) *cobra.Command {
	var hold time.Duration
	var probes, agentDir string
	command := &cobra.Command{
		Use:   "run [--hold | --probes FILE] [--agent-dir DIR] -- COMMAND...",
		Short: "Start a Java program prepared for Sonde",
		Long:  launchLong,
		Example: `  sonde run -- java -jar shop.jar
  sonde run --hold -- java -cp classes com.acme.Main
  sonde run --probes probes.yaml -- java -jar shop.jar
  sonde run -- ./gradlew bootRun`,
		Args: atLeast("COMMAND"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if hold < 0 || hold > mostHold {
				return usage("--hold %v: must be from 1s to %v", hold, mostHold)
			}
			switch {
			case probes != "" && cmd.Flags().Changed("hold"):
				return usage("--probes has the program wait for its hooks by itself: leave --hold out")
			case probes == "-":
				return usage("--probes -: standard input is the program's; name a file")
			case probes != "":
				return runWatched(cmd.Context(), s, args, probes, agentDir)
			}
			return runProgram(cmd.Context(), s, args, launch.Settings{Hold: hold, AgentDir: agentDir})
		},
	}
	flags := command.Flags()
	flags.SetInterspersed(false) // what comes behind the command is the command's
	flags.DurationVar(&hold, "hold", 0, "have the program wait for Sonde before it begins, at most so long")
	flags.StringVar(&probes, "probes", "", "`FILE` that says what the program is watched for")
	flags.StringVar(&agentDir, "agent-dir", "", agentDirUsage)
	flags.Lookup("hold").NoOptDefVal = usualHold.String()
	return command
}

const agentDirUsage = "`DIR` for the agent's jar, in place of a directory with this user's data"

// usualHold is how long a program waits for Sonde that nobody lets go.
const (
	usualHold = 30 * time.Second
	mostHold  = 10 * time.Minute
)

// An exitStatus is the exit code of a program that ran to its end.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("the program ended with exit code %d", int(e)) }

func runProgram(ctx context.Context, s streams, words []string, settings launch.Settings) error {
	program, err := launch.Start(words, settings)
	if err != nil {
		return err
	}
	defer program.PassSignals()()
	tellLaunch(s, words)
	// What asks this command to end was passed on: only the program's end ends it.
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	found := make(chan struct{})
	go func() {
		defer close(found)
		program.Watch(watching, func(jvm *process.JVM) { tellPrepared(s, jvm, settings.Hold) })
	}()
	code := program.ExitCode()
	stop()
	<-found
	tellLeft(s, words, program)
	if code != 0 {
		return exitStatus(code)
	}
	return nil
}

// tellLaunch says what was done to a command that takes no options for a JVM.
func tellLaunch(s streams, words []string) {
	if !launch.IsJava(words[0]) {
		_, _ = fmt.Fprintf(s.err, "sonde: %s is not java: its JVMs get the agent by JAVA_TOOL_OPTIONS, and say so\n", format.Printable(words[0]))
	}
}

// tellLeft says what a command left running when it ended: this command ends with it.
func tellLeft(s streams, words []string, program *launch.Program) {
	if left := program.Left(); len(left) > 0 {
		_, _ = fmt.Fprintf(s.err, "sonde: %s ended and left %s running in the background, where each JVM gets the agent: sonde ps lists them\n",
			format.Printable(words[0]), launch.Numbers(left))
	}
}

func tellPrepared(s streams, jvm *process.JVM, hold time.Duration) {
	waits := ""
	if hold > 0 {
		waits = fmt.Sprintf(", and waits for that up to %v", hold)
	}
	_, _ = fmt.Fprintf(s.err, "sonde: process %d is ready for sonde count %d PATTERN or sonde profile %d --root PATTERN%s\n",
		jvm.PID, jvm.PID, jvm.PID, waits)
}

// runWatched starts a program and has its first JVM watched as a file says, from its
// first instruction to its end. Standard output is the program's: what was measured is
// told on the error stream.
func runWatched(ctx context.Context, s streams, words []string, file, agentDir string) error {
	set, err := readSet(s, file)
	if err != nil {
		return err
	}
	program, err := launch.Start(words, launch.Settings{Hold: usualHold, AgentDir: agentDir})
	if err != nil {
		return err
	}
	defer program.PassSignals()()
	tellLaunch(s, words)
	c := &applying{
		choice: choice{streams: streams{out: s.err, err: s.err}}, title: file, set: set, interval: time.Second, keep: usualKeep,
	}
	if err := c.watchStarted(ctx, program); err != nil {
		_, _ = fmt.Fprintf(s.err, "sonde: %s\n", format.OneLine(err))
	}
	code := program.ExitCode()
	tellLeft(s, words, program)
	if code != 0 {
		return exitStatus(code)
	}
	return nil
}

// watchStarted holds the first JVM that the program starts, to its end. Others begin by
// themselves.
func (c *applying) watchStarted(ctx context.Context, program *launch.Program) error {
	jvm, ok := <-firstJVM(ctx, program)
	if !ok {
		return program.EndedEarly()
	}
	c.pid = jvm.PID
	letGo := func() error {
		_, err := targetfs.LetGo(jvm)
		return err
	}
	// What asks this command to end is passed on to the program, and its end is that
	// of the watching; only one that goes on nevertheless is left.
	watching, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(endingPatience, abandon) })()
	err := c.hold(watching, jvm, letGo)
	if err != nil {
		_ = letGo() // whatever failed, the program is not to wait for it
	}
	return err
}

// firstJVM gives the first JVM of a program, and lets all others begin. The channel is
// closed when the program has ended.
func firstJVM(ctx context.Context, program *launch.Program) <-chan *process.JVM {
	first := make(chan *process.JVM, 1)
	go func() {
		defer close(first)
		taken := false
		program.Watch(context.WithoutCancel(ctx), func(jvm *process.JVM) {
			if !taken {
				taken = true
				first <- jvm
				return
			}
			_, _ = targetfs.LetGo(jvm)
		})
	}()
	return first
}
