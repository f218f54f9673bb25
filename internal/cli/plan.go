package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/weave/pack/build"
)

// forecast is what `sonde plan` and `sonde pack` are told: archives, and what is wanted
// of them.
type forecast struct {
	streams
	inputs []string
	probes string
	jdk    string
	cache  liveCache
	json   bool
	all    bool
}

func (f *forecast) register(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVarP(&f.probes, "probes", "p", "", "`FILE` that says what is wanted, as sonde apply reads it; - reads it from standard input (required)")
	flags.StringVar(&f.jdk, "jdk", "", "`HOME` of the JDK the program will run on, whose classes conditions may read; else JAVA_HOME, or that of the java in PATH")
	flags.BoolVar(&f.json, "json", false, "write one JSON object")
	f.cache.register(flags)
}

func newPlan(s streams) *cobra.Command {
	f := &forecast{streams: s}
	command := &cobra.Command{
		Use:     "plan JAR|WAR|DIR... --probes FILE",
		Short:   "Show what probes would do to each class of an application, and why",
		Long:    planLong,
		Example: planExamples,
		Args:    atLeast("the jar, war or directory to look at"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.inputs = args
			planned, err := f.plan(cmd.Context(), "weaving")
			if err != nil {
				return err
			}
			return f.writePlan(planned)
		},
	}
	f.register(command)
	command.Flags().BoolVar(&f.all, "all", false, "name every class and every method, also those of the JDK")
	return command
}

// plan reads the archives and weaves what a pack would hold.
func (f *forecast) plan(ctx context.Context, label string) (*build.Planned, error) {
	if f.probes == "" {
		return nil, usage("--probes is missing: the file that says what is wanted, such as probes.yaml")
	}
	set, text, err := readProbes(f.streams, f.probes)
	if err != nil {
		return nil, err
	}
	image, err := f.image()
	if err != nil {
		return nil, err
	}
	if image == "" {
		f.note("no JDK was found, so conditions can read no class of it: --jdk HOME names one")
	}
	kept, closeCache, err := f.cache.openCache(f.note)
	if err != nil {
		return nil, err
	}
	defer closeCache()
	progress := &bar{out: f.err, width: f.width, label: label}
	planned, err := build.Plan(ctx, f.inputs, set, build.Settings{
		Image: image, Cache: kept, Probes: text, Notice: f.note, Progress: progress.update,
	})
	progress.clear()
	return planned, err
}

// note tells what a user should read, apart from what is asked for.
func (f *forecast) note(text string) { _, _ = fmt.Fprintf(f.err, "note: %s\n", printable(text)) }

// image is the run-time image of a JDK; empty where none is found.
func (f *forecast) image() (string, error) {
	of := func(home string) string { return filepath.Join(home, "lib", "modules") }
	if f.jdk != "" {
		if _, err := os.Stat(of(f.jdk)); err != nil {
			return "", usage("--jdk %s: it has no lib/modules: name the home of a JDK, 9 or newer", f.jdk)
		}
		return of(f.jdk), nil
	}
	homes := []string{os.Getenv("JAVA_HOME")}
	if java, err := exec.LookPath("java"); err == nil {
		if java, err = filepath.EvalSymlinks(java); err == nil {
			homes = append(homes, filepath.Dir(filepath.Dir(java)))
		}
	}
	for _, home := range homes {
		if home == "" {
			continue
		}
		if _, err := os.Stat(of(home)); err == nil {
			return of(home), nil
		}
	}
	return "", nil
}

// wovenText tells where woven classes came from.
func (f *forecast) wovenText(w session.Weavings) string {
	return wovenText(w.Woven, w.Cached, w.Cached+w.Missed > 0)
}

// refusal is why no pack can be made, as the commands tell it; "" where one can.
func refusal(planned *build.Planned) string {
	err := planned.Refusal()
	switch {
	case err == nil:
		return ""
	case errors.Is(err, build.ErrEmpty):
		return "no method of these classes would have a hook: there is nothing to pack"
	}
	return oneLine(err)
}
