package cli

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// A period is how long a method is measured, on the command line: '1000 calls', 5s,
// or both, whichever comes first. What is given takes the place of the default; a
// number of calls alone still has a limit in time, as calls may never come.
type period struct {
	calls uint64
	time  time.Duration
	given bool
}

// callsLimit is how long a method is waited for whose calls alone were asked for.
const callsLimit = time.Minute

func (p *period) Type() string { return "period" }

func (p *period) String() string {
	var parts []string
	if p.calls > 0 && p.calls < math.MaxUint64 {
		parts = append(parts, strconv.FormatUint(p.calls, 10)+" calls")
	}
	if p.time > 0 {
		parts = append(parts, p.time.String())
	}
	return strings.Join(parts, ", ")
}

var errPeriod = errors.New("no period")

// Set reads one bound, or two with a comma or a bar between.
func (p *period) Set(text string) error {
	next := *p
	if !p.given {
		next = period{calls: math.MaxUint64, time: callsLimit, given: true}
	}
	bounds := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '|' })
	if len(bounds) == 0 {
		return errPeriod
	}
	for _, bound := range bounds {
		if err := next.bound(strings.TrimSpace(bound)); err != nil {
			return err
		}
	}
	*p = next
	return nil
}

func (p *period) bound(text string) error {
	digits, isCalls := strings.CutSuffix(text, "calls")
	if !isCalls {
		digits, isCalls = strings.CutSuffix(text, "call")
	}
	if isCalls {
		calls, err := strconv.ParseUint(strings.ReplaceAll(strings.TrimSpace(digits), "_", ""), 10, 64)
		if err != nil || calls == 0 {
			return errPeriod
		}
		p.calls = calls
		return nil
	}
	lasting, err := time.ParseDuration(text)
	if err != nil || lasting <= 0 {
		return errPeriod
	}
	p.time = lasting
	return nil
}
