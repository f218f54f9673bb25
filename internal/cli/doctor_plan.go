package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// planJSON is what sonde count would do.
type planJSON struct {
	Loaded    int          `json:"classesLoaded"`
	Matched   int          `json:"classesMatched"`
	Unmatched []string     `json:"unmatchedPatterns,omitempty"`
	Loaders   []loaderJSON `json:"loaders"`
	wovenJSON              // to tell it
}

type loaderJSON struct {
	Loader    string     `json:"loader"` // boot, or a number
	Example   string     `json:"example"`
	Classes   int        `json:"classes"`
	Methods   int        `json:"methods"`
	Fileless  int        `json:"classesWithoutFile"`
	LeftAlone []leftJSON `json:"leftAlone,omitempty"`
}

// plan enters the JVM, asks and leaves.
func (d *doctorCommand) plan(ctx context.Context) (*session.Plan, error) {
	tell := func(text string) { _, _ = fmt.Fprintf(d.err, "note: %s\n", printable(text)) }
	kept, endCache, err := d.cache.openCache(tell)
	if err != nil {
		return nil, err
	}
	defer endCache()
	s, err := session.Open(ctx, d.pid, session.Settings{Command: "sonde doctor", Cache: kept, Notice: tell})
	if err != nil {
		return nil, interruption(ctx, err)
	}
	defer func() { _ = s.Release() }()
	plan, err := s.Plan(ctx, session.Wanted{Methods: d.set, Flags: arena.On})
	d.woven, d.hasCache = describeWoven(s), s.HasCache()
	_, closing := s.Close(ctx)
	if err = errors.Join(err, closing); err != nil {
		err = interruption(ctx, err)
	}
	return plan, err
}

func loaderName(number uint32) string {
	if number == 0 {
		return "boot"
	}
	return fmt.Sprint(number)
}

func describePlan(plan *session.Plan, woven wovenJSON) *planJSON {
	d := &planJSON{Loaded: plan.Loaded, Matched: plan.Matched, Loaders: []loaderJSON{}, wovenJSON: woven}
	for _, lost := range plan.Unmatched {
		d.Unmatched = append(d.Unmatched, lost.Pattern)
	}
	for _, l := range plan.Loaders {
		d.Loaders = append(d.Loaders, loaderJSON{
			Loader: loaderName(l.Number), Example: l.Example, Classes: l.Classes, Methods: l.Methods, Fileless: l.Fileless,
			LeftAlone: describeLeft(l.Left),
		})
	}
	return d
}

func (d *doctorCommand) writePlan(out io.Writer, plan *session.Plan) {
	_, _ = fmt.Fprintf(out, "\n%s of %s loaded match%s\n", count(plan.Matched, "class", "classes"), grouped(plan.Loaded),
		wovenText(d.woven.Woven, d.woven.Cached, d.hasCache))
	for _, lost := range plan.Unmatched {
		_, _ = fmt.Fprintln(out, lostText(lost, ""))
	}
	for _, l := range plan.Loaders {
		name := "class loader " + loaderName(l.Number)
		if l.Number == 0 {
			name = "boot class loader"
		}
		_, _ = fmt.Fprintf(out, "%s (of %s): hooks would go into %s of %s", name, printable(l.Example),
			count(l.Methods, "method", "methods"), count(l.Classes, "class", "classes"))
		if l.Fileless > 0 {
			_, _ = fmt.Fprintf(out, ", %s without a file that would show its methods", grouped(l.Fileless))
		}
		_, _ = fmt.Fprintln(out)
		if len(l.Left) == 0 {
			continue
		}
		_, _ = fmt.Fprintf(out, "%s would be left alone:\n", count(len(l.Left), "class or method", "classes or methods"))
		for _, line := range leftLines(groupLeft(l.Left), d.listLeft) {
			_, _ = fmt.Fprintln(out, printable(line))
		}
	}
}
