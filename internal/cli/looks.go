package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/service"
)

func newLooks(s streams) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "looks",
		Short: "List the commands that look at JVMs, and results that are kept",
		Long: `List the looks of this user: the live commands that run, with or without a terminal, and
those that have ended and whose results are kept. Results are kept for a week, and up to
256 MiB.

LOOK     its number, for sonde show and sonde end
STATE    running, background (running without a terminal), ended, failed, or lost, if
         its service was killed
CALLS/S  calls per second that its hooks count now
COST     part of one processor that its hooks use now`,
		Example: `  sonde looks
  sonde looks --json | jq '.looks[] | select(.state == "running")'`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return listLooks(cmd.Context(), s, asJSON) },
	}
	command.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	return command
}

func listLooks(ctx context.Context, s streams, asJSON bool) error {
	client, err := s.connect(ctx)
	if err != nil {
		return err
	}
	var list service.List
	if err := client.Call(ctx, http.MethodGet, "/v1/looks", nil, &list); err != nil {
		return err
	}
	if asJSON {
		return document.Write(s.out, list)
	}
	if len(list.Looks) == 0 {
		_, err := fmt.Fprintln(s.err, "there are no looks")
		return err
	}
	return s.print(func(out io.Writer) {
		format.WriteTable(out, looksColumns, lookTexts(list.Looks), s.outWidth(), looksExpendable...)
	})
}

var (
	looksColumns    = format.Columns(">LOOK", ">PID", "STATE", ">AGE", ">CALLS/S", ">COST", "COMMAND")
	looksExpendable = []string{"CALLS/S", "COST", "AGE"}
)

func lookTexts(looks []service.Description) (rows [][]string) {
	for _, l := range looks {
		rate, cost := "-", "-"
		if l.Cost != nil {
			rate, cost = format.Rate(l.Cost.PerSecond), format.Percent(l.Cost.Share)
		}
		rows = append(rows, []string{
			strconv.Itoa(l.Number), strconv.Itoa(l.PID), stateText(&l), since(l.Began), rate, cost, format.Printable(l.Command),
		})
	}
	return rows
}

func stateText(l *service.Description) string {
	switch {
	case l.State == service.Running && l.Background:
		return "background"
	case l.State == service.Ended && l.Exit != exitOK:
		return "failed"
	}
	return string(l.State)
}

func lookNumber(text string) (int, error) {
	number, err := strconv.Atoi(text)
	if err != nil || number <= 0 {
		return 0, usage("%q is not the number of a look: sonde looks lists them", text)
	}
	return number, nil
}

func newShow(s streams) *cobra.Command {
	var asJSON bool
	var outputs []string
	command := &cobra.Command{
		Use:   "show LOOK",
		Short: "Show a command that runs in the background, or a result that is kept",
		Long: `Show a look. If it is running, its messages and tables are shown until it ends; Ctrl-C
only ends the showing. If it has ended, its result is printed again, or written to files;
their suffixes select the format: .txt, .json, or one that the command's own -o can
write.`,
		Example: `  sonde show 12
  sonde show 12 --json
  sonde show 12 -o checkout.html`,
		Args: exactly("LOOK"),
		RunE: func(cmd *cobra.Command, args []string) error {
			number, err := lookNumber(args[0])
			if err != nil {
				return err
			}
			return showOrPrint(cmd.Context(), s, number, asJSON, outputs)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "write the result as JSON")
	command.Flags().StringArrayVarP(&outputs, "output", "o", nil, "file to write the result to; may be repeated")
	return command
}

func showOrPrint(ctx context.Context, s streams, number int, asJSON bool, outputs []string) error {
	client, err := s.connect(ctx)
	if err != nil {
		return err
	}
	path := fmt.Sprintf("/v1/looks/%d", number)
	var look service.Description
	if err := client.Call(ctx, http.MethodGet, path, nil, &look); err != nil {
		return err
	}
	switch {
	case look.State != service.Running:
		return s.printResult(ctx, client, &look, asJSON, outputs)
	case len(outputs) > 0:
		return fmt.Errorf("look %d is still running: sonde end %d ends it, then its result can be written", number, number)
	case asJSON:
		return document.Write(s.out, look)
	}
	if terminal := s.terminal(); terminal != nil {
		if err := client.Call(ctx, http.MethodPut, path+"/terminal", terminal, nil); err != nil {
			return err
		}
	}
	err = s.watchLook(ctx, client, number)
	if ctx.Err() != nil {
		_, err = fmt.Fprintf(s.err, "look %d goes on: sonde end %d ends it\n", number, number)
	}
	return err
}

// watchLook shows a look whose owner is another command. It ends when the look ends or at the
// first signal.
func (s streams) watchLook(ctx context.Context, client *service.Client, number int) error {
	stream, err := client.Events(ctx, http.MethodGet, fmt.Sprintf("/v1/looks/%d/events", number), nil)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	defer s.passKeys(client, number)()
	return s.follow(stream, newScreen(s), func() {}, func(string) {})
}

// printResult prints the result of a look that has ended, or writes it to files.
func (s streams) printResult(ctx context.Context, client *service.Client, look *service.Description, asJSON bool, outputs []string) error {
	fetch := func(format string) ([]byte, error) {
		return client.Fetch(ctx, fmt.Sprintf("/v1/looks/%d/result?format=%s", look.Number, format))
	}
	if len(outputs) == 0 {
		kept := "txt"
		if asJSON {
			kept = "json"
		}
		result, err := fetch(kept)
		if err != nil {
			return err
		}
		_, err = s.out.Write(result)
		return err
	}
	reportWritten, err := s.writeOutputs(outputs, func(path string) error {
		result, err := fetch(formatOf(path, look.Formats))
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, result, 0o644); err != nil {
			return outputError(path, err)
		}
		return nil
	})
	reportWritten()
	return err
}

// formatOf returns the format that a file name has, the longest one that fits.
func formatOf(path string, formats []string) string {
	name, best := filepath.Base(path), ""
	for _, one := range formats {
		if strings.HasSuffix(name, "."+one) && len(one) > len(best) {
			best = one
		}
	}
	if best == "" {
		return strings.TrimPrefix(filepath.Ext(name), ".")
	}
	return best
}

func newEnd(s streams) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "end LOOK...",
		Short: "End commands that run in the background, and print their results",
		Long: `End looks, as Ctrl-C does in their terminals, wait until their hooks are removed, and
print their results. Hooks that other looks use stay.`,
		Example: `  sonde end 12
  sonde end 12 13 --json`,
		Args: atLeast("LOOK"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var failed error
			for _, text := range args {
				number, err := lookNumber(text)
				if err == nil {
					err = endLook(cmd.Context(), s, number, asJSON)
				}
				failed = errors.Join(failed, err)
			}
			return failed
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "write the results as JSON")
	return command
}

func endLook(ctx context.Context, s streams, number int, asJSON bool) error {
	client, err := s.connect(ctx)
	if err != nil {
		return err
	}
	var look service.Description
	if err := client.Call(ctx, http.MethodPost, fmt.Sprintf("/v1/looks/%d/end", number), nil, &look); err != nil {
		return err
	}
	if look.Exit != exitOK || !slices.Contains(look.Formats, "txt") {
		return fmt.Errorf("look %d has ended without a result: %s", number, look.Error)
	}
	return s.printResult(ctx, client, &look, asJSON, nil)
}

// undoLook ends one look of a JVM.
func undoLook(ctx context.Context, s streams, pid, number int) error {
	client, err := place().Find(ctx)
	var look service.Description
	if err == nil {
		err = client.Call(ctx, http.MethodGet, fmt.Sprintf("/v1/looks/%d", number), nil, &look)
	}
	switch {
	case err != nil && !errors.Is(err, service.ErrNone):
		return err
	case look.State != service.Running:
		return fmt.Errorf("look %d is not running: sonde looks lists the looks", number)
	case look.PID != pid:
		return fmt.Errorf("look %d is of process %d, not of %d", number, look.PID, pid)
	}
	if err := client.Call(ctx, http.MethodPost, fmt.Sprintf("/v1/looks/%d/end", number), nil, nil); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "look %d has ended: sonde show %d prints its result\n", number, number)
	return err
}

// hostDocument is written by `sonde status --json`.
type hostDocument struct {
	JVMs  []document.JVM        `json:"jvms"`
	Looks []service.Description `json:"looks"`
}

// hostStatus shows the JVMs in which Sonde is, and the looks that run.
func hostStatus(ctx context.Context, s streams, asJSON bool) error {
	d, err := askHost(ctx, s, func(h service.Host) (d hostDocument, err error) {
		d.Looks = []service.Description{}
		if client, is := h.(*service.Client); is {
			if d.Looks, err = client.Looks(ctx, service.Running); err != nil {
				return d, err
			}
		}
		all, err := h.JVMs(ctx)
		d.JVMs = all.JVMs
		return d, err
	})
	if err != nil {
		return err
	}
	d.JVMs = slices.DeleteFunc(d.JVMs, func(j document.JVM) bool {
		inside := process.Presence(j.Inside)
		return inside == process.Outside || inside == process.PresenceUnknown
	})
	if asJSON {
		return document.Write(s.out, d)
	}
	jvms, looks := d.JVMs, d.Looks
	if len(jvms)+len(looks) == 0 {
		_, err := fmt.Fprintln(s.out, "Sonde is in no JVM"+asFarAsSeen())
		return err
	}
	return s.print(func(out io.Writer) {
		if len(jvms) > 0 {
			format.WriteTable(out, psColumns, jvmRows(jvms), s.outWidth(), psExpendable...)
		}
		if len(looks) > 0 {
			_, _ = fmt.Fprintln(out)
			format.WriteTable(out, looksColumns, lookTexts(looks), s.outWidth(), looksExpendable...)
		}
	})
}
