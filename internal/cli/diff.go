package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report"
	"github.com/sonde-jvm/sonde/internal/report/diff"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/text"
)

func newDiff(s streams) *cobra.Command {
	var asJSON bool
	var top int
	var outputs []string
	command := &cobra.Command{
		Use:   "diff BEFORE... [--] AFTER...",
		Short: "Compare profiles from before and after a change",
		Long: `Compare results of sonde profile: which methods, and which call paths to them, take
more or less own time, or are called more or less often.

All figures are per call of the root, so runs of different length can be compared. A time
counts as changed only if the difference is larger than the confidence intervals, the
different mix of requests and the variation between calls can explain. Of other
differences only the number is shown.

One run does not show how much results vary from run to run: the JVM compiles and places
code differently each time it starts. So measure at least two runs before and two after
the change, better five, and name them all, with -- between them. Then a time counts as
changed only if the differences between runs of the same side cannot explain it, either.

Only what was measured in all runs is compared. A method whose hook was off, on for
a part of the time or missing in one of them is listed, and its time is added to that of its
callers in all of them.

-o writes files in the format of their names: .html for a browser, with a flame graph in
which red took longer and blue less time, .json, .txt.

The files are .json or .html files of sonde profile -o. A .pb.gz file works, too, but has
no confidence intervals: unless there are several runs, every difference then looks certain.`,
		Example: `  sonde profile 4711 --root com.acme.Checkout.pay --duration 30s -o before.json
  sonde profile 4712 --root com.acme.Checkout.pay --duration 30s -o after.html
  sonde diff before.json after.html
  sonde diff -o diff.html before*.json -- after*.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			_, _, err := sides(args, cmd.ArgsLenAtDash())
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutputs(outputs, report.Differences.Check); err != nil {
				return err
			}
			before, after, err := sides(args, cmd.ArgsLenAtDash())
			if err != nil {
				return err
			}
			old, err := readProfiles(before)
			if err != nil {
				return err
			}
			fresh, err := readProfiles(after)
			if err != nil {
				return err
			}
			difference := diff.Compare(old, fresh)
			reportWritten, err := s.writeOutputs(outputs, func(path string) error { return report.Differences.WriteFile(path, difference) })
			defer reportWritten()
			switch {
			case err != nil:
				return err
			case asJSON:
				return document.Write(s.out, document.NewDiff(difference, top))
			}
			return text.WriteDiff(s.out, difference, top, s.outWidth())
		},
	}
	flags := command.Flags()
	flags.StringArrayVarP(&outputs, "output", "o", nil, "file to write: .html, .json or .txt; may be repeated")
	flags.BoolVar(&asJSON, "json", false, "write one JSON object")
	flags.VarP(number(&top, 20, 0, 0), "top", "n", "show at most `N` methods and contexts; 0 shows all")
	return command
}

// sides divides file names into those before and after a change. dash is the number of names before --, or -1
// without one.
func sides(names []string, dash int) (before, after []string, err error) {
	if dash < 0 {
		if err := exactly("the profile before", "the profile after")(nil, names); err != nil {
			if len(names) > 2 {
				return nil, nil, usage("there are %d files: put -- between the files from before and from after the change", len(names))
			}
			return nil, nil, err
		}
		dash = 1
	}
	before, after = names[:dash], names[dash:]
	switch {
	case slices.ContainsFunc(after, func(name string) bool { return strings.HasPrefix(name, "-") }):
		return nil, nil, usage("flags must come before --, which begins the files after the change")
	case len(before) == 0:
		return nil, nil, usage("the profiles before the change are missing: name them before --")
	case len(after) == 0:
		return nil, nil, usage("the profiles after the change are missing: name them after --")
	case min(len(before), len(after)) == 1 && len(names) > 2:
		return nil, nil, usage("one side has a single run, the other several: name one on each side, or at least two on each to show how runs vary")
	}
	return before, after, nil
}

func readProfiles(paths []string) (profiles []*cct.Profile, err error) {
	for _, path := range paths {
		p, err := report.ReadProfile(path)
		if err != nil {
			return nil, err
		}
		profiles = append(profiles, p)
	}
	return profiles, nil
}
