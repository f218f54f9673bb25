// Agree compares what Sonde reported about the shop with what its customers saw, and prints both:
//
//	go run ./test/demo/agree CAME CUSTOMERS PROFILE.json TRACE.json
//
// CAME is when Sonde came, in milliseconds since 1970. CUSTOMERS is the file of load.Main: a line for
// each request, with the milliseconds since 1970 when it was sent, the nanoseconds until it was
// answered, and its kind. It fails if they do not agree: if
// checkouts took another time than the customers saw meanwhile, or if a trace is of a
// checkout that is much slower than any of its kind before.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/report"
	"github.com/sonde-jvm/sonde/internal/report/document"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: agree CAME CUSTOMERS PROFILE.json TRACE.json")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(came, customers, profile, trace string) error {
	at, err := strconv.ParseInt(came, 10, 64)
	if err != nil {
		return err
	}
	file, err := os.Open(customers)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	seen, err := readRequests(file)
	if err != nil {
		return fmt.Errorf("%s: %w", customers, err)
	}
	p, err := report.ReadProfile(profile)
	if err != nil {
		return err
	}
	roots := p.Merged.Roots()
	said := measured{
		came: time.UnixMilli(at), from: p.Began, until: p.Began.Add(p.Took), total: time.Duration(roots.Total.Nanos), off: time.Duration(roots.Total.Uncertainty()),
		calls: int(roots.Calls), disturbed: p.Disturbed,
	}
	text, err := os.ReadFile(trace)
	if errors.Is(err, fs.ErrNotExist) { // Sonde has said why
		return compare(os.Stdout, seen, said)
	}
	if err != nil {
		return err
	}
	var traces document.Trace
	if err := json.Unmarshal(text, &traces); err != nil {
		return fmt.Errorf("%s: %w", trace, err)
	}
	for _, t := range traces.Transactions {
		said.traces = append(said.traces, traced{t.Begin, t.Duration})
	}
	return compare(os.Stdout, seen, said)
}

// A request is one that a customer made.
type request struct {
	began time.Time
	took  time.Duration
	kind  string
}

func (r request) ended() time.Time { return r.began.Add(r.took) }

func readRequests(r io.Reader) (all []request, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		words := strings.SplitN(lines.Text(), " ", 3)
		if len(words) != 3 {
			continue // the customers are writing it
		}
		began, err1 := strconv.ParseInt(words[0], 10, 64)
		took, err2 := strconv.ParseInt(words[1], 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		all = append(all, request{time.UnixMilli(began), time.Duration(took), words[2]})
	}
	return all, lines.Err()
}

// measured is what Sonde reported.
type measured struct {
	came        time.Time
	from, until time.Time     // of the profile
	total, off  time.Duration // of all checkouts
	calls       int           // 0 if they were sampled, not counted
	disturbed   string
	traces      []traced
}

type traced struct {
	began time.Time
	took  time.Duration
}

// beforeSonde is the time before Sonde came, in which the JVM was warm.
const beforeSonde = 10 * time.Second

const (
	checkouts  = "checkout, "
	cheapest   = "cart" // a request that takes the shop almost no time
	tolerance  = 0.1
	byChance   = 1.5                  // the slowest of a few dozen requests may be faster than the slowest of as many others by this factor
	clockError = 3 * time.Millisecond // customers' clock has milliseconds
)

// compare writes both, and returns why they do not agree.
func compare(out io.Writer, seen []request, said measured) error {
	isCheckout := func(r request) bool { return strings.HasPrefix(r.kind, checkouts) }
	during := func(from, until time.Time) func(request) bool {
		return func(r request) bool { return !r.began.Before(from) && !r.ended().After(until) }
	}
	before := during(said.came.Add(-beforeSonde), said.came)
	both := func(a, b func(request) bool) func(request) bool {
		return func(r request) bool { return a(r) && b(r) }
	}
	then, former := sum(seen, both(isCheckout, during(said.from, said.until))), sum(seen, both(isCheckout, before))
	network := sum(seen, both(func(r request) bool { return r.kind == cheapest }, during(said.from, said.until)))
	_, _ = fmt.Fprintf(out, "%-34s %10s %22s %22s\n", "", "SONDE", "CUSTOMERS, SAME TIME", "CUSTOMERS, BEFORE")
	mean := "–" // samples do not count
	if said.calls > 0 {
		mean = millis(said.total / time.Duration(said.calls))
	}
	_, _ = fmt.Fprintf(out, "%-34s %10s %22s %22s\n", "checkout, mean", mean, then, former)
	_, _ = fmt.Fprintf(out, "%-34s %10s %22s\n", "a request to the cart: HTTP alone", "", network)
	_, _ = fmt.Fprintf(out, "%-34s %10s %22s\n", "all checkouts together", seconds(said.total), seconds(then.all))
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if said.disturbed == "" {
		http := network.mean() * time.Duration(then.requests)
		if said.total+said.off < time.Duration((1-tolerance)*float64(then.all-http)) || said.total-said.off > time.Duration((1+tolerance)*float64(then.all)) {
			problem("all checkouts took %s says Sonde, the customers waited %s for them, of which about %s are HTTP", seconds(said.total), seconds(then.all), seconds(http))
		}
	} else {
		_, _ = fmt.Fprintln(out, said.disturbed)
	}
	for i, t := range said.traces {
		kind, waited := match(seen, t)
		if kind == "" {
			problem("trace %d (%s) is of no checkout that a customer made", i+1, millis(t.took))
			continue
		}
		ofKind := sum(seen, both(func(r request) bool { return r.kind == kind }, before))
		_, _ = fmt.Fprintf(out, "%-34s %10s %22s %22s\n", fmt.Sprintf("trace %d: %s", i+1, strings.TrimPrefix(kind, checkouts)), millis(t.took), millis(waited), ofKind.slowestText())
		if t.took > time.Duration(byChance*float64(ofKind.slowest)) {
			problem("trace %d (%s) is much slower than any checkout of its kind before Sonde came (%s)", i+1, millis(t.took), millis(ofKind.slowest))
		}
	}
	return errors.Join(problems...)
}

// match returns the kind of the checkout that a trace is of, and how long the customer waited. Of several
// checkouts in which the trace fits, it is the shortest.
func match(seen []request, t traced) (kind string, waited time.Duration) {
	for _, r := range seen {
		if strings.HasPrefix(r.kind, checkouts) && !r.began.After(t.began.Add(clockError)) && !r.ended().Before(t.began.Add(t.took-clockError)) && (kind == "" || r.took < waited) {
			kind, waited = r.kind, r.took
		}
	}
	return kind, waited
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

func millis(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1000) }

// A total is what some requests took.
type total struct {
	requests     int
	all, slowest time.Duration
}

func sum(seen []request, is func(request) bool) (t total) {
	for _, r := range seen {
		if is(r) {
			t.requests++
			t.all += r.took
			t.slowest = max(t.slowest, r.took)
		}
	}
	return t
}

func (t total) mean() time.Duration { return t.all / time.Duration(max(1, t.requests)) }

func (t total) String() string { return fmt.Sprintf("%s (%d)", millis(t.mean()), t.requests) }

func (t total) slowestText() string {
	return fmt.Sprintf("%s, slowest %s", millis(t.mean()), millis(t.slowest))
}
