package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/report/document"
)

// A monitored program runs commands from its standard input and confirms them.
type monitoredProgram struct {
	t *testing.T
	*jvmtest.Running
}

func startMonitored(t *testing.T, jdk jvmtest.JDK) *monitoredProgram {
	t.Helper()
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/monitored/Monitored.java"}})
	return &monitoredProgram{t, jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", classes, "monitored.Monitored"}})}
}

func (p *monitoredProgram) do(order, answer string) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.Stdin, order); err != nil {
		p.t.Fatal(err)
	}
	p.Await(p.t, answer)
}

// A monitorReader reads what a monitor writes, while it does.
type monitorReader struct {
	t     *testing.T
	lines *bufio.Scanner
	all   []document.Monitor
}

// await reads until an object is as wanted.
func (r *monitorReader) await(what string, isIt func(document.Monitor) bool) document.Monitor {
	r.t.Helper()
	for r.lines.Scan() {
		d := parse[document.Monitor](r.t, r.lines.Text())
		r.all = append(r.all, d)
		if isIt(d) {
			return d
		}
	}
	r.t.Fatalf("%s was not reported", what)
	return document.Monitor{}
}

func monitorRow(d *document.Monitor, pattern string) document.MonitorRow {
	for _, r := range d.Rows {
		if r.Pattern == pattern {
			return r
		}
	}
	return document.MonitorRow{}
}

const (
	monitoredAll  = "monitored.Monitored$Order.*"
	monitoredPay  = "monitored.Monitored$Order.pay"
	monitoredWait = "monitored.Monitored$Order.waits"
	monitoredHang = "monitored.Monitored$Order.hang"
)

// TestMonitorLive watches a program that knows what it does.
func TestMonitorLive(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			p := startMonitored(t, jdk)
			p.do("call 1", "called")
			metrics := filepath.Join(t.TempDir(), "sonde.prom")
			read, write := io.Pipe()
			m := startSondeTo(t, write, "monitor", strconv.Itoa(p.PID), monitoredPay, monitoredAll, monitoredWait, monitoredHang,
				"--json", "--interval", "50ms", "--stall", "50ms", "--prometheus", metrics)
			r := &monitorReader{t: t, lines: bufio.NewScanner(read)}
			checkCrowds(t, p, r, jdk, metrics)
			checkStall(t, p, r)
			p.do("call 1000", "called 1000 failed 200")
			m.signal(t, syscall.SIGINT)
			final := r.await("the end", func(d document.Monitor) bool { return d.Final })
			if code := m.end(t); code != exitOK {
				t.Errorf("exit code %d: %s", code, m.stderr.String())
			}
			checkWhole(t, r, final)
			checkMetrics(t, metrics, `sonde_monitor_up{main="monitored.Monitored"} 0`)
			checkMetrics(t, metrics, `sonde_calls_total{main="monitored.Monitored",pattern="`+monitoredPay+`"} 1000`)
			checkMetrics(t, metrics, `sonde_call_errors_total{main="monitored.Monitored",pattern="`+monitoredPay+`"} 200`)
			if _, out, _ := sonde(t, "status", strconv.Itoa(p.PID)); !strings.HasPrefix(out, "Sonde has no hooks and no agent in") {
				t.Errorf("%s", out)
			}
		})
	}
}

// checkCrowds has threads wait inside a call, and sees how many.
func checkCrowds(t *testing.T, p *monitoredProgram, r *monitorReader, jdk jvmtest.JDK, metrics string) {
	t.Helper()
	const platform, virtual = 5, 20
	threads := platform
	p.do(fmt.Sprintf("crowd %d", platform), "inside")
	if jdk.Major >= 21 {
		threads += virtual
		p.do(fmt.Sprintf("virtual %d", virtual), "inside")
	}
	d := r.await("a crowd", func(d document.Monitor) bool { waits := monitorRow(&d, monitoredWait); return waits.Running == threads })
	if d.Total.Running != threads || monitorRow(&d, monitoredAll).Running != threads || monitorRow(&d, monitoredPay).Running != 0 {
		t.Errorf("%+v", d)
	}
	checkMetrics(t, metrics, fmt.Sprintf(`sonde_calls_running{main="monitored.Monitored",pattern="%s"} %d`, monitoredWait, threads))
	p.do("release", "released")
	r.await("that the crowd is gone", func(d document.Monitor) bool { return d.Total.Running == 0 })
}

// checkStall makes a call hang: it is reported with the method it hangs in, as new only once.
func checkStall(t *testing.T, p *monitoredProgram, r *monitorReader) {
	t.Helper()
	p.do("hang", "hanging")
	first := r.await("a stall", func(d document.Monitor) bool { return monitorRow(&d, monitoredHang).Stalled == 1 })
	second := r.await("the same stall", func(d document.Monitor) bool { return true })
	for i, d := range []document.Monitor{first, second} {
		if len(d.Stalls) != 1 || len(d.Stalls[0].Calls) != 2 || d.Total.Stalled != 1 || d.Total.Running != 1 {
			t.Fatalf("%+v", d)
		}
		calls := d.Stalls[0].Calls
		if calls[0].Method != "serve" || calls[1].Method != "hang" || calls[1].Seconds <= 0.05 || calls[0].Seconds < calls[1].Seconds {
			t.Errorf("%+v", calls)
		}
		if i == 1 && d.Stalls[0].New {
			t.Error("a stall is reported as new twice")
		}
	}
	p.do("release", "released")
	r.await("that nothing hangs", func(d document.Monitor) bool { return d.Total.Running == 0 })
}

// checkWhole compares the whole with what the program did, and with what intervals
// add up to.
func checkWhole(t *testing.T, r *monitorReader, final document.Monitor) {
	t.Helper()
	pay := monitorRow(&final, monitoredPay)
	if pay.Calls != 1000 || pay.Errors != 200 || pay.Timed != 1000 || pay.Mean == nil {
		t.Fatalf("%+v", pay)
	}
	if *pay.P50 > *pay.P90 || *pay.P90 > *pay.P99 || *pay.P99 > *pay.Max || *pay.Mean > *pay.Max {
		t.Errorf("%v, %v, %v, %v, %v", *pay.Mean, *pay.P50, *pay.P90, *pay.P99, *pay.Max)
	}
	if all := monitorRow(&final, monitoredAll); all.Calls != final.Total.Calls || all.Calls != 1000+monitorRow(&final, monitoredWait).Calls+2 {
		t.Errorf("%+v", all)
	}
	if ending(final.Ended) != endedInterrupted || final.Hooks == nil || final.Hooks.Methods != 5 || final.Leaving == nil || !final.Leaving.Unmapped ||
		final.HookCost == nil || final.Clock == nil || final.Lost != 0 {
		t.Errorf("%+v", final)
	}
	var calls, errors uint64
	for _, d := range r.all {
		if !d.Final {
			calls, errors = calls+d.Total.Calls, errors+d.Total.Errors
		}
	}
	if calls != final.Total.Calls || errors != final.Total.Errors {
		t.Errorf("intervals have %d calls and %d errors, the whole %d and %d", calls, errors, final.Total.Calls, final.Total.Errors)
	}
}

func checkMetrics(t *testing.T, file, line string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if want := line + "\n"; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("no %s in %s, %v", want, text, err)
	}
}
