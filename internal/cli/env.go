package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvm/launch"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
)

// An environment is a `sonde env` command line.
type environment struct {
	streams
	launch.AgentOption
	place string // of the agent's jar
	shell string
}

func newEnv(s streams) *cobra.Command {
	c := &environment{streams: s}
	command := &cobra.Command{
		Use:     "env",
		Short:   "Print the environment that makes JVMs start with a pack or the agent",
		Long:    envLong,
		Example: envExamples,
		Args:    exactly(),
		RunE: func(*cobra.Command, []string) error {
			if err := c.check(); err != nil {
				return err
			}
			return c.run()
		},
	}
	flags := command.Flags()
	flags.StringVar(&c.Pack, "pack", "", "`FILE` of the pack")
	flags.StringVar(&c.Arena, "arena", "", "`FILE` or directory for measurements; %p is the process number")
	flags.StringArrayVar(&c.Only, "only", nil, "`GLOB` of programs that get the agent; may be repeated")
	flags.StringArrayVar(&c.Not, "not", nil, "`GLOB` of programs that do not get the agent; may be repeated")
	flags.StringVar(&c.place, "agent-dir", "", agentDirUsage)
	flags.Var(oneOf(&c.shell, "sh", "sh", "fish", "dotenv", "json"), "shell", "format of the output: sh, fish, dotenv or json")
	return command
}

// check reads the command line.
func (c *environment) check() error {
	const mostGlobs = 64 // that the agent reads
	switch {
	case c.Arena != "" && c.Pack == "":
		return usage("--arena needs --pack: without a pack nothing is measured")
	case len(c.Only) > mostGlobs || len(c.Not) > mostGlobs:
		return usage("--only and --not can be given %d times at most", mostGlobs)
	case slices.Contains(c.Only, "") || slices.Contains(c.Not, ""):
		return usage("--only and --not must not be empty")
	}
	return nil
}

func (c *environment) run() (err error) {
	if c.Pack != "" {
		if err := c.checkPack(); err != nil {
			return err
		}
	}
	if c.Arena != "" {
		if err := c.checkArena(); err != nil {
			return err
		}
	}
	if c.Jar, err = launch.KeepJar(c.place); err != nil {
		return err
	}
	option, err := c.Text()
	if err != nil {
		return err
	}
	value := launch.WithOption(os.Getenv(launch.ToolOptions), option)
	_, err = fmt.Fprintln(c.out, envFormats[c.shell](launch.ToolOptions, value))
	return err
}

// checkPack finds errors that the agent could report to nobody.
func (c *environment) checkPack() (err error) {
	if c.Pack, err = filepath.Abs(c.Pack); err != nil {
		return err
	}
	opened, err := pack.Open(c.Pack)
	if err != nil {
		return err
	}
	defer func() { _ = opened.Close() }()
	if err := launch.CheckOwn(c.Pack); err != nil {
		return fmt.Errorf("pack %s: %w, or move it where only you can write", c.Pack, err)
	}
	content, err := opened.Content()
	if err != nil {
		return err
	}
	if content.Build != agent.AgentBuild() {
		return fmt.Errorf("pack %s was made for the agent of another build of sonde: make it again with this one's sonde pack", c.Pack)
	}
	return nil
}

// checkArena checks that the directory of the arena exists.
func (c *environment) checkArena() (err error) {
	if c.Arena, err = filepath.Abs(c.Arena); err != nil {
		return err
	}
	if info, err := os.Stat(c.Arena); err == nil && info.IsDir() {
		return nil
	}
	directory := filepath.Dir(c.Arena)
	if info, err := os.Stat(directory); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return fmt.Errorf("--arena %s: %s is not a directory: create it first", c.Arena, directory)
	}
	if !strings.Contains(filepath.Base(c.Arena), "%p") {
		_, _ = fmt.Fprintf(c.err, "note: --arena %s is a single file: a second or restarted JVM runs without hooks; use %%p in the name, or a directory\n", c.Arena)
	}
	return nil
}

const envLong = `Print the environment variable that makes every JVM start with Sonde's agent. With
--pack, the agent weaves classes as they load and measures, without a Sonde; without, it
waits until a sonde command names the JVM. Processes inherit the variable, so all JVMs of
an application get it, however they are started.

JVMs read JAVA_TOOL_OPTIONS. Its current value is kept, except that another agent of
Sonde is replaced. Each JVM prints a line on standard error that says it has picked the
variable up; nothing else is printed.

--only and --not select programs by globs, in which * matches any characters: the main
class (com.acme.*), the path of a jar (/opt/shop/*.jar) or its name (shop*.jar). With
--only, a program must match at least one glob, and with --not none. Other programs start
as if there were no agent. Both may be repeated.

--arena is where the measurements of a pack go: a directory, in which each process writes
a file sonde-PID.arena, or a file, in whose name %p is the process number. An existing
file is never overwritten: the program then starts without hooks. The default is
/tmp/sonde-PID-….arena. The program must be able to write to the directory.

The agent's jar is stored with the data of this user (~/.local/share/sonde), under a name
for each build of Sonde, and stays there. For programs of other users, or in containers,
--agent-dir names a directory that they can read: a JVM that cannot read the jar, or has
no module java.instrument, does not start, whatever --only and --not say. Other users
must not be able to write to the jar or the pack, nor to any directory above them,
because JVMs run the code in them.

Exit code: 0 if the variable was printed, 1 on an error, 2 for a wrong command line.`

const envExamples = `  eval "$(sonde env --pack shop.pack)" && ./start-shop.sh
  eval "$(sonde env --pack shop.pack --only 'com.acme.*' --not '*Tool' --arena /var/tmp/shop)"
  eval "$(sonde env --only 'shop*.jar')"
  sonde env --pack /opt/shop.pack --agent-dir /opt/sonde --shell dotenv >> shop.env
  sonde env --pack shop.pack --shell fish | source`

// envFormats write a variable for a shell or for a program.
var envFormats = map[string]func(name, value string) string{
	"sh":     func(name, value string) string { return "export " + name + "=" + shellWord(value) },
	"fish":   func(name, value string) string { return "set -gx " + name + " " + fishWord(value) },
	"dotenv": func(name, value string) string { return name + "=" + dotenvWord(value) },
	"json":   envJSON,
}

// fishWord quotes for fish, where a backslash escapes in single quotes.
func fishWord(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// dotenvWord quotes only if necessary: some readers of such files treat quotes as a part of
// the value.
func dotenvWord(text string) string {
	switch {
	case !strings.ContainsAny(text, "'\"#$`\\"):
		return text
	case !strings.Contains(text, "'"):
		return "'" + text + "'"
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(text) + `"`
}

func envJSON(name, value string) string {
	text, err := json.Marshal(map[string]string{name: value})
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return string(text)
}
