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
		Short:   "Print the environment by which JVMs start with a pack, or with the agent",
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
	flags.StringVar(&c.Pack, "pack", "", "`FILE` that sonde pack has made")
	flags.StringVar(&c.Arena, "arena", "", "`FILE` or directory to measure into; %p is the process's number")
	flags.StringArrayVar(&c.Only, "only", nil, "`GLOB` of programs that are meant; may be repeated")
	flags.StringArrayVar(&c.Not, "not", nil, "`GLOB` of programs that are not meant; may be repeated")
	flags.StringVar(&c.place, "agent-dir", "", agentDirUsage)
	flags.StringVar(&c.shell, "shell", "sh", "for whom it is written: sh, fish, dotenv or json")
	return command
}

// check reads the command line.
func (c *environment) check() error {
	const mostGlobs = 64 // that the agent reads
	switch {
	case envFormats[c.shell] == nil:
		return usage("--shell %q: sh, fish, dotenv or json", c.shell)
	case c.Arena != "" && c.Pack == "":
		return usage("--arena goes with --pack: without one nothing is measured")
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

// checkPack says before a program starts what its agent could tell nobody.
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

// checkArena looks whether there is a place for it.
func (c *environment) checkArena() (err error) {
	if c.Arena, err = filepath.Abs(c.Arena); err != nil {
		return err
	}
	if info, err := os.Stat(c.Arena); err == nil && info.IsDir() {
		return nil
	}
	directory := filepath.Dir(c.Arena)
	if info, err := os.Stat(directory); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return fmt.Errorf("--arena %s: %s is no directory: make it first", c.Arena, directory)
	}
	if !strings.Contains(filepath.Base(c.Arena), "%p") {
		_, _ = fmt.Fprintf(c.err, "note: --arena %s is one file: a second JVM, or one that is started again, runs unwoven; %%p in it, or a directory, has one for each\n", c.Arena)
	}
	return nil
}

const envLong = `Print the environment by which every JVM that is started in it has Sonde's agent: with
--pack the agent weaves classes as they load, as the pack says, and measures, without a
Sonde; without, it waits until a sonde command names the JVM. Processes inherit the
variable, so that all JVMs of an application have it, however they are started.

JAVA_TOOL_OPTIONS is what JVMs read. What it holds already is kept, but for an
agent of Sonde's, which is replaced. Each JVM prints a line on its error stream that
says it has picked the variable up; nothing else is printed by it.

--only and --not say which programs are meant, by globs in which * is any run of
characters: of the main class (com.acme.*), of a jar's path (/opt/shop/*.jar) or of its
name (shop*.jar). With --only a program must match one of them, and with --not none.
One that is not meant starts as if there were no agent. They may be repeated.

--arena is where a pack's measurements go: a directory, in which each process has a
file sonde-PID.arena, or a file, in whose name %p is the process's number. A file
that is there is never written to: the program starts unwoven then. The default is
/tmp/sonde-PID-….arena. The directory must be one that the program can write to.

The agent's jar is put with this user's data (~/.local/share/sonde), by a name of its own
for each build of Sonde, and stays there. For programs of other users, or in containers,
--agent-dir names a directory that they can read: a JVM that cannot read the jar, or has
no module java.instrument, does not start, whatever --only and --not say. Other users
must not be able to write to the jar or the pack, nor to a directory on the way to them:
JVMs run what is in them.

Exit code: 0 when it was printed, 1 on an error, 2 for a wrong command line.`

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

// fishWord quotes for fish, in whose single quotes a backslash is one.
func fishWord(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// dotenvWord quotes only what needs it: some readers of such files take quotes for a
// part of the value.
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
		panic(err) // texts have a form
	}
	return string(text)
}
