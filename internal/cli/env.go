package cli

import (
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
