package cli

import (
	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/report"
	"github.com/sonde-jvm/sonde/internal/report/diff"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/text"
)

func newDiff(s streams) *cobra.Command {
	var asJSON bool
	var top int
	command := &cobra.Command{
		Use:   "diff BEFORE AFTER",
		Short: "Compare two profiles",
		Long: `Compare two results of sonde profile: which methods, and which call paths to them, take
more or less own time, or are called more or less often.

All figures are per call of the root, so runs of different length can be compared. A time
counts as changed only if the confidence intervals are further apart than the mix of
requests and the variation between calls explain; the rest is counted, not listed.

Only what was measured on both sides is compared. A method whose hook was off, on for
a part of the time or missing on one side is listed, and its time is added to that of its
callers on both sides.

The files are .json or .html files of sonde profile -o. A .pb.gz file works, too, but has
no confidence intervals: every difference then looks certain.`,
		Example: `  sonde profile 4711 --root com.acme.Checkout.pay --duration 30s -o before.json
  sonde profile 4712 --root com.acme.Checkout.pay --duration 30s -o after.html
  sonde diff before.json after.html`,
		Args: exactly("the profile before", "the profile after"),
		RunE: func(_ *cobra.Command, args []string) error {
			before, err := report.ReadProfileFile(args[0])
			if err != nil {
				return err
			}
			after, err := report.ReadProfileFile(args[1])
			if err != nil {
				return err
			}
			difference := diff.Compare(before, after)
			if asJSON {
				return document.Write(s.out, document.NewDiff(difference, top))
			}
			return text.WriteDiff(s.out, difference, top, s.outWidth())
		},
	}
	flags := command.Flags()
	flags.BoolVar(&asJSON, "json", false, "write one JSON object")
	flags.Var(number(&top, 20, 0, 0), "top", "show only the first `N` methods and contexts, 0 for all")
	return command
}
