package tenants

import (
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

const (
	slowTenant = "globex"
	// slow lies far above what most requests take, and below what that tenant's
	// reports do, which read hundreds of thousands of rows.
	slow = 50 * time.Millisecond
	// wanted is how many slow requests are sent, and how many end the tracing.
	wanted = 4
	// linesOfReport is how many lines every tenant's report has: one price each.
	linesOfReport = 100
	// giveUp ends a tracing that does not get what it waits for.
	giveUp = "90s"
)

// TestSlowRequestsOfOneTenantInTomcat traces what one tenant waited for too long. The
// application tells which those were.
func TestSlowRequestsOfOneTenantInTomcat(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run("jdk"+jdk.Version, func(t *testing.T) {
			s := startTomcat(t, jdk)
			s.visitAll(t, 1, 1)
			said := s.ask(t, slowTenant+"/orders", "-1")

			receiver := startReceiver(t)
			files := filepath.Join(t.TempDir(), "slow")
			tracing := startTracing(t, s.PID, "tenants.web.Front.handle", "--tag", "tenant=$1.tenant.name",
				"--when", `tx.tenant == "`+slowTenant+`"`, "--slower-than", slow.String(), "--limit", strconv.Itoa(wanted), "--for", giveUp,
				"--capture", "$1.number", "--capture", "$1.service", "--otlp", receiver.URL(),
				"-o", files+".json", "-o", files+".html", "-o", files+".perfetto.json", "-o", files+".otlp.json", "-o", files+".txt")
			tracing.settle(t, func() { s.ask(t, slowTenant+"/orders", "-1") })
			const first = 1001
			s.visitAll(t, first, wanted)
			tracing.end(t)
			t.Logf("%s\n%s", tracing.stderr.String(), tracing.out.String())

			kept := readTrace(t, files+".json")
			judgeVisits(t, kept, s.visits(t), first)
			judgeReports(t, kept)
			judgeFiles(t, kept, files)
			receiver.judge(t, kept, files+".otlp.json")
			judgeInPerfetto(t, kept, files+".perfetto.json")
			nothingLeft(t, s.PID)
			if again := s.ask(t, slowTenant+"/orders", "-1"); again != said {
				t.Errorf("the orders are %q, and were %q before", again, said)
			}
			if s.Stderr() != "" && jdk.Major < 21 { // later ones warn of every agent
				t.Errorf("the application complains: %s", s.Stderr())
			}
		})
	}
}

// judgeVisits compares what was kept with what the application measured. As many
// were slow as wanted, and others only if something else held them up: those may be
// kept in the place of some.
func judgeVisits(t *testing.T, kept trace, visits map[int]visit, first int) {
	t.Helper()
	if len(kept.Transactions) != wanted {
		t.Errorf("%d kept, want %d", len(kept.Transactions), wanted)
	}
	found := make(map[int]bool)
	for i := range kept.Transactions {
		tx := &kept.Transactions[i]
		number := tx.Root.number(t, "$1.number")
		v, told := visits[number]
		switch {
		case !told || number < first || found[number]:
			t.Errorf("request %d was kept, and was not made meanwhile or is here twice", number)
		case v.tenant != slowTenant || tx.Tags["tenant"] != slowTenant || tx.Root.value(t, "$1.service") != v.service:
			t.Errorf("request %d was kept as %v, and is %+v", number, tx.Tags, v)
		case time.Duration(v.around) < slow:
			t.Errorf("request %d was kept, and took %v", number, time.Duration(v.around))
		case tx.Root.MeasuredNanos < v.within || tx.Root.MeasuredNanos > v.around:
			t.Errorf("request %d: Sonde measured %d ns, the application from %d to %d", number, tx.Root.MeasuredNanos, v.within, v.around)
		}
		found[number] = true
	}
	missing, inPlace := 0, 0
	for number, v := range visits {
		must := number >= first && v.tenant == slowTenant && v.service == "report"
		if must && time.Duration(v.within) < slow {
			t.Errorf("request %d should be slow and took %v: this says nothing of Sonde", number, time.Duration(v.within))
		}
		if must && !found[number] {
			missing++
		}
		if !must && found[number] {
			inPlace++
		}
	}
	if missing != inPlace {
		t.Errorf("of the slow requests %d are missing; in their place are %d others", missing, inPlace)
	}
}

// judgeReports expects that each report has all the calls that made it slow, and what
// another thread did for it.
func judgeReports(t *testing.T, kept trace) {
	t.Helper()
	for i := range kept.Transactions {
		tx := &kept.Transactions[i]
		if tx.Root.value(t, "$1.service") != "report" {
			continue
		}
		const service = "tenants.service."
		reads := tx.Root.count(service+"Reports.answer", service+"Pricing.price", service+"Agreements.percentOff", "tenants.store.Store.query")
		if reads != linesOfReport {
			t.Errorf("request %s: %d reads of agreements, want %d", tx.Root.value(t, "$1.number"), reads, linesOfReport)
		}
		if len(tx.Parts) != 1 || tx.Parts[0].ThreadName == tx.Root.ThreadName || tx.Parts[0].count(service+"Stock.of") != 1 {
			t.Errorf("request %s: %d parts on other threads, want one that looks into the stock", tx.Root.value(t, "$1.number"), len(tx.Parts))
		}
	}
}
