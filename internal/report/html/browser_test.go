package html

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/drill"
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/measure/trace/tracetest"
	"github.com/sonde-jvm/sonde/internal/report/pagetest"
	"github.com/sonde-jvm/sonde/internal/report/reporttest"
)

func TestMain(m *testing.M) { os.Exit(pagetest.Shared(m.Run)) }

func TestProfileInBrowser(t *testing.T) {
	tabs := func(p *pagetest.Page, state string) {
		for _, tab := range []string{"tree", "measured", "methods"} {
			p.Click("#tab-" + tab)
			p.CheckLayout(state + "-" + tab)
		}
		p.Click("#methods-table .row:nth-child(5) .name")
		p.CheckLayout(state + "-panel")
		p.Click("#panel .close")
		p.Click("#tab-flame")
		p.CheckLayout(state + "-flame")
	}
	pagetest.EachWindow(t, "profile", write(t, bigProfile()), tabs, func(t *testing.T, p *pagetest.Page) {
		checkFlame(t, p)
		checkTree(t, p)
		checkMethods(t, p)
		p.Eval(`{ const threads = document.querySelector("#threads"); threads.value = "1"; threads.dispatchEvent(new Event("change")); }`, nil)
		p.Click("#tab-flame")
		p.Wait(`document.querySelector("#crumbs").innerText.includes("KafkaListenerEndpointContainer")`)
	})
}

func TestSamplesInBrowser(t *testing.T) {
	tabs := func(p *pagetest.Page, state string) {
		for _, tab := range []string{"tree", "methods", "flame"} {
			p.Click("#tab-" + tab)
			p.CheckLayout(state + "-" + tab)
		}
	}
	pagetest.EachWindow(t, "hot", bigSamples(t), tabs, func(t *testing.T, p *pagetest.Page) {
		checkFlame(t, p)
		checkShapes(t, p)
		if text := p.Text("#legend .category"); !strings.HasPrefix(text, "category db") {
			t.Errorf("the first category of the legend is %q, want db", text)
		}
	})
}

func TestDiffInBrowser(t *testing.T) {
	pagetest.EachWindow(t, "diff", writeDiff(t), (*pagetest.Page).CheckLayout, func(t *testing.T, p *pagetest.Page) {
		p.Press("/")
		p.Type("LedgerEntry")
		p.Press("Enter")
		p.Wait("!tooltip.hidden")
		if text := p.Text("#tooltip"); !strings.Contains(text, "Slower: chance cannot explain the change.") {
			t.Errorf("the tooltip of the slower method says %q", text)
		}
		if text := p.Text(".changes tbody"); !strings.Contains(text, "shop.payment.LedgerEntry.verify") || !strings.Contains(text, "slower") {
			t.Errorf("the methods that changed are %q", text)
		}
	})
}

// checkShapes turns the graph over, shows one method with its callers and callees, leaves methods out, and goes back.
func checkShapes(t *testing.T, p *pagetest.Page) {
	const zoomed = "#crumbs [aria-current]"
	var address string
	p.Press("Escape")
	before := picture(p)
	p.Click("#flip")
	p.Until("the graph is drawn from the bottom up", func() bool { return picture(p) != before })
	p.CheckLayout("flame-flipped")
	p.Click("#flip")
	p.Click("[data-shape=callers]")
	p.Wait(`document.querySelector("` + zoomed + `").innerText === "Self time, by callers"`)
	p.CheckLayout("flame-callers")
	p.Eval("history.back()", nil)
	p.Wait(`document.querySelector("` + zoomed + `").innerText === "All threads"`)
	p.Press("/")
	p.Type("LedgerEntry")
	p.Press("Enter")
	p.Wait("!tooltip.hidden")
	p.Eval(`document.querySelector("#flame-frame").focus()`, nil)
	p.Press("m")
	p.Wait(`document.activeElement.role === "menuitem"`)
	p.CheckLayout("flame-menu")
	p.Click(".menu :nth-child(3)")
	p.Wait(`document.querySelector("` + zoomed + `").innerText === "LedgerEntry.verify"`)
	p.Wait(`document.querySelector("#above-frame").checkVisibility()`)
	p.CheckLayout("flame-sandwich")
	p.Click("[data-shape=callees]")
	p.Click("#tab-methods")
	p.Click("#methods-table .row .name")
	p.Click("#panel .actions :nth-child(2)")
	p.Wait(`document.querySelector("#filters").innerText.includes("without LedgerEntry.verify")`)
	p.Wait(`document.querySelectorAll("#methods-table .row").length === 0`)
	p.Eval("location.hash", &address)
	if !strings.Contains(address, "without=") || !strings.Contains(address, "tab=methods") {
		t.Errorf("the address is %q", address)
	}
	p.Reload()
	p.Wait(`document.querySelector("#filters")?.innerText.includes("without LedgerEntry.verify")`)
	p.Click("#tab-flame")
	p.Click("#filters button")
	p.Wait(`document.querySelector("#filters").hidden`)
	p.Press("/")
	p.Press("Escape")
}

func TestRootCauseInBrowser(t *testing.T) {
	for name, c := range map[string]*rootcause.Climb{"walk": bigClimb(), "deepwalk": deepClimb()} {
		pagetest.EachWindow(t, name, writeClimb(t, c), (*pagetest.Page).CheckLayout, func(t *testing.T, p *pagetest.Page) {
			p.Hover(p.Place(".box.hot", 0.5, 0.5))
			p.Wait("!tooltip.hidden")
			if text := p.Text("#tooltip"); !strings.Contains(text, "samples") {
				t.Errorf("the tooltip of the hot spot says %q", text)
			}
			if p.Count(".box.hot.lit") != 1 || p.Count("tr.hot.lit") != 1 {
				t.Error("the hot spot is not marked in the graph and in the table")
			}
			p.Hover(p.Place(".timeline .live", 0.5, 0.5))
			p.Wait(`tooltip.innerText.includes("level")`)
			p.Click("summary")
			p.Wait(`document.querySelector(".caller-list tbody tr").checkVisibility()`)
			p.CheckLayout(name + "-list")
		})
	}
}

func TestDrillInBrowser(t *testing.T) {
	for name, r := range map[string]*drill.Result{"drill": bigDrill(), "drill-without-hooks": reporttest.DrillWithoutHooks()} {
		pagetest.EachWindow(t, name, writeDrill(t, r), (*pagetest.Page).CheckLayout, func(t *testing.T, p *pagetest.Page) {
			if n := p.Count(".descent tr.cause"); n != 1 {
				t.Errorf("%d rows are marked as the cause, want 1", n)
			}
			if text := p.Text("#evidence + .columns"); !strings.Contains(text, "waits for a monitor") || !strings.Contains(text, "archiver") {
				t.Errorf("the evidence is %q, want the wait and the holder of the lock", text)
			}
		})
	}
}

// TestEmptyPagesInBrowser opens the pages of runs without results.
func TestEmptyPagesInBrowser(t *testing.T) {
	browser := pagetest.Start(t)
	profile := browser.Open(t, write(t, &cct.Profile{}), 400, false)
	profile.Wait(`document.querySelector("#view-flame").innerText.includes("No call of the root was seen.")`)
	profile.CheckLayout("no-profile")
	for _, tab := range []string{"tree", "methods", "measured"} {
		profile.Click("#tab-" + tab)
	}
	browser.Open(t, writeClimb(t, &rootcause.Climb{}), 400, false).CheckLayout("no-walk")
	browser.Open(t, writeDrill(t, &drill.Result{}), 400, false).CheckLayout("no-drill")
}

// row is a point of the flame graph: a part of its width, in the middle of a depth.
func row(p *pagetest.Page, right float64, depth int) pagetest.Point {
	var height float64
	p.Eval(`document.querySelector("#flame-canvas").clientHeight`, &height)
	const boxHeight = 22 // as in flamedraw.js
	return p.Place("#flame-canvas", right, (float64(depth)+0.5)*boxHeight/height)
}

// picture is what the flame graph shows.
func picture(p *pagetest.Page) (drawn string) {
	p.Eval(`document.querySelector("#flame-canvas").toDataURL()`, &drawn)
	return drawn
}

// checkFlame looks at the flame graph, points at a box, zooms in and out, and searches.
func checkFlame(t *testing.T, p *pagetest.Page) {
	var colours int
	p.Eval(`(() => {
		const canvas = document.querySelector("#flame-canvas");
		return new Set(new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size;
	})()`, &colours)
	if colours < 50 { // boxes, their labels' edges, the gaps
		t.Errorf("the flame graph has %d colours: it is not drawn", colours)
	}
	const pointed, zoomed = "#tooltip .name", "#crumbs [aria-current]"
	p.Hover(row(p, 0.98, 2))
	p.Wait("!tooltip.hidden")
	beside := p.Text(pointed)
	p.ClickAt(row(p, 0.05, 2))
	name := p.Text(pointed)
	if name == beside || !strings.HasSuffix(name, p.Text(zoomed)) {
		t.Errorf("a click on %s, next to %s, zooms to %s", name, beside, p.Text(zoomed))
	}
	p.Until("the zoomed box is as wide as the graph", func() bool {
		p.Hover(row(p, 0.97, 3))
		p.Hover(row(p, 0.98, 2))
		return p.Text(pointed) == name
	})
	p.Press("Escape")
	p.Wait(`document.querySelector("` + zoomed + `").innerText === "All threads"`)
	p.Press("ArrowDown")
	p.Press("Enter")
	p.Wait(`document.querySelector("` + zoomed + `").innerText === "CheckoutHandler.handle"`)
	p.Press("Escape")
	p.Hover(pagetest.Point{X: 1, Y: 1})

	var before string
	p.Until("the graph stands still", func() bool {
		last := before
		before = picture(p)
		return before == last
	})
	p.Press("/")
	p.Type("LedgerEntry")
	p.Wait(`found.value.endsWith("of time in 1 method")`)
	p.Until("what was found is marked", func() bool { return picture(p) != before })
	p.Press("Enter")
	p.Wait("!tooltip.hidden")
	if found := p.Text(pointed); found != "shop.payment.LedgerEntry.verify" {
		t.Errorf("Enter goes to %s", found)
	}
	p.Press("Escape")
	p.Wait(`found.value === ""`)
}

// checkTree opens and closes a context, and finds one.
func checkTree(t *testing.T, p *pagetest.Page) {
	rows := func() (n int) {
		p.Eval(`Number(document.querySelector("#tree-table").getAttribute("aria-rowcount"))`, &n)
		return n
	}
	p.Click("#tab-tree")
	before := rows()
	const closed = `#tree-table .row[aria-expanded="false"] .twist`
	p.Until("a closed context comes into sight", func() bool {
		p.Eval(`document.querySelector("#tree-table .body").scrollTop += 200`, nil)
		return p.Count(closed) > 0
	})
	p.Click(closed)
	if opened := rows(); opened <= before {
		t.Errorf("%d rows before a context is opened, %d after", before, opened)
	}
	p.Press("ArrowLeft")
	if again := rows(); again != before {
		t.Errorf("%d rows before a context is opened, %d after it is closed", before, again)
	}
	p.Press("/")
	p.Type("ledgerentry")
	p.Press("Enter")
	p.Wait(`document.querySelector("#tree-table .row.found[aria-selected=true] mark")?.innerText === "LedgerEntry"`)
	p.CheckLayout("tree-found")
	p.Press("Escape")
}

// checkMethods sorts and filters the flat list, and follows a method to its caller.
func checkMethods(t *testing.T, p *pagetest.Page) {
	p.Click("#tab-methods")
	p.Click("#methods-table .head > :nth-child(6) button")
	p.Wait(`document.querySelector("#methods-table .head > :nth-child(6)").ariaSort === "descending"`)
	p.Press("/")
	p.Type("ledgerentry")
	p.Wait(`document.querySelectorAll("#methods-table .row").length === 1`)
	p.Click("#methods-table .row .name")
	p.Wait(`document.querySelector("#panel h2")?.innerText.includes("LedgerEntry")`)
	p.Click("#panel li button")
	if text := p.Text("#panel h2"); !strings.Contains(text, "History.replay") {
		t.Errorf("the caller of LedgerEntry.verify is shown as %q", text)
	}
	p.Click("#panel .close")
	p.Click("#search")
	p.Press("Escape")
}

// bigTrace is the sample with many transactions, deep calls and long names.
func bigTrace() *trace.Trace {
	t := tracetest.Sample()
	dotted := strings.ReplaceAll(longClass, "/", ".")
	t.Target.Command = dotted
	t.Methods = append(t.Methods, dotted+"."+longName)
	t.Conditions = append(t.Conditions, "when $1.order.customer.address.country == \""+longName+"\"")
	t.Notes = append(t.Notes, dotted+"."+longName+" was left alone")
	for i := range 60 {
		took := time.Duration(300+i) * time.Millisecond
		root := &trace.Call{
			Class: dotted, Method: longName, Thread: trace.Thread{ID: 40, Name: "org.springframework.kafka.KafkaListenerEndpointContainer#0-0-C-1-partition-17"},
			Measured: took, Duration: took, Self: took / 50, Values: []trace.Value{{Expression: "$1.order.customer.name", Text: strings.Repeat("long value ", 9)}},
		}
		at := root
		for depth := range 25 {
			inner := time.Duration(200-4*depth) * time.Millisecond
			next := &trace.Call{
				Class: fmt.Sprintf("com.acme.module%d.%s", depth%9, "OrderFulfilmentServiceImplementation"), Method: longName, Thread: root.Thread, Depth: depth + 1,
				Start: time.Duration(5*depth) * time.Millisecond, Measured: inner, Duration: inner, Self: 4 * time.Millisecond, Threw: depth == 20, Conditional: depth == 3,
			}
			at.Children = append(at.Children, next)
			at = next
		}
		t.Transactions = append(t.Transactions, &trace.Transaction{
			ID: uint64(1000 + i), Root: root, Begin: t.Began.Add(time.Duration(i) * time.Second), Duration: took,
			Tags: map[string]string{"tenant": fmt.Sprintf("tenant-%d", i), "path": "/api/v2/warehouses/4711/orders/fulfilment/confirmations"},
		})
	}
	return t
}

func TestTraceInBrowser(t *testing.T) {
	pagetest.EachWindow(t, "trace", writeTrace(t, bigTrace()), (*pagetest.Page).CheckLayout, func(t *testing.T, p *pagetest.Page) {
		checkWaterfall(t, p)
		checkList(t, p)
	})
}

// checkWaterfall points at a call, closes and opens it, and zooms.
func checkWaterfall(t *testing.T, p *pagetest.Page) {
	const calls = ".water .call"
	if n := p.Count(calls); n != 26 {
		t.Errorf("the slowest transaction has %d rows, want 26", n)
	}
	if p.Count(".track .own") < 26 {
		t.Error("not every call has a bar")
	}
	p.Hover(p.Place(calls+":nth-child(3) .figure", 0.5, 0.5))
	p.Wait(`!tooltip.hidden && tooltip.innerText.includes("OrderFulfilmentServiceImplementation")`)
	p.Click(calls + ":nth-child(3) .twist")
	if n := p.Count(calls); n != 3 {
		t.Errorf("%d rows while the third is closed, want 3", n)
	}
	p.Press("ArrowRight")
	if n := p.Count(calls); n != 26 {
		t.Errorf("%d rows when it is open again, want 26", n)
	}
	whole := p.Text(".ticks")
	p.DoubleClick(calls + ":nth-child(9) .figure")
	p.Wait("!reset.hidden")
	if p.Text(".ticks") == whole {
		t.Error("a double click on a call does not zoom")
	}
	p.Press("Escape")
	p.Wait("reset.hidden")
	p.Drag(p.Place(calls+":nth-child(1) .track", 0.2, 0.5), p.Place(calls+":nth-child(1) .track", 0.4, 0.5))
	p.Wait("!reset.hidden")
	p.CheckLayout("trace-zoomed")
	p.Click("#reset")
	if p.Text(".ticks") != whole {
		t.Error("the whole transaction is not shown again")
	}
}

func TestLongTraceInBrowser(t *testing.T) {
	long := bigTrace()
	for len(long.Transactions) < 1200 {
		long.Transactions = append(long.Transactions, long.Transactions[0])
	}
	p := pagetest.Start(t).Open(t, writeTrace(t, long), 1000, false)
	for _, want := range []int{501, 1001, 1200} { // with the row for more
		p.Wait(fmt.Sprintf(`document.querySelectorAll("#transactions tbody tr").length === %d`, want))
		if want < 1200 {
			p.Eval(`document.querySelector("#transactions .more button").click()`, nil)
		}
	}
}

// checkList filters, sorts and picks transactions.
func checkList(t *testing.T, p *pagetest.Page) {
	const rows = "#transactions tbody tr"
	if n := p.Count(rows); n != 63 {
		t.Errorf("%d transactions are listed, want 63", n)
	}
	p.Press("/")
	p.Type("checkout tier=gold")
	p.Wait(`found.value === "1 of 63"`)
	p.Click(rows)
	if title := p.Text("#water-title h2"); !strings.Contains(title, "Shop.checkout") || !strings.Contains(title, "182 ms") {
		t.Errorf("a click shows %q", title)
	}
	p.CheckLayout("trace-sample")
	p.Click("#filter")
	p.Press("Escape")
	p.Wait(`found.value === ""`)
	p.Click(`#transactions th[data-key="durationNanos"] button`)
	p.Wait(`document.querySelector('#transactions [aria-sort="ascending"]').dataset.key === "durationNanos"`)
	before := p.Text("#water-title h2")
	p.Press("j")
	if p.Text("#water-title h2") == before {
		t.Error("j does not go on to another transaction")
	}
}

func TestEmptyTraceInBrowser(t *testing.T) {
	p := pagetest.Start(t).Open(t, writeTrace(t, &trace.Trace{}), 400, true)
	p.Wait(`document.querySelector("main").innerText.includes("No transaction was seen.")`)
	p.CheckLayout("no-trace")
}
