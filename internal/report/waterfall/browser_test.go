package waterfall

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/measure/trace/tracetest"
	"github.com/sonde-jvm/sonde/internal/report/pagetest"
)

// Names as frameworks make them: nothing in the page may rely on short ones.
const (
	longClass = "org.springframework.transaction.interceptor.TransactionInterceptorDelegatingBeanFactoryPostProcessor$$EnhancerBySpringCGLIB$$4f1c2d3e"
	longName  = "lambda$invokeWithinTransactionAndCleanUpAfterCommitOrRollback$17"
)

// bigTrace is the sample with many transactions, deep calls and long names.
func bigTrace() *trace.Trace {
	t := tracetest.Sample()
	t.Target.Command = longClass
	t.Methods = append(t.Methods, longClass+"."+longName)
	t.Conditions = append(t.Conditions, "when $1.order.customer.address.country == \""+longName+"\"")
	t.Notes = append(t.Notes, longClass+"."+longName+" was left alone")
	for i := range 60 {
		took := time.Duration(300+i) * time.Millisecond
		root := &trace.Call{
			Class: longClass, Method: longName, Thread: trace.Thread{ID: 40, Name: "org.springframework.kafka.KafkaListenerEndpointContainer#0-0-C-1-partition-17"},
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
	pagetest.EachWindow(t, "trace", writePage(t, bigTrace()), (*pagetest.Page).CheckLayout, func(t *testing.T, p *pagetest.Page) {
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

func TestTraceOfNothingInBrowser(t *testing.T) {
	p := pagetest.Start(t).Open(t, writePage(t, &trace.Trace{}), 400, true)
	p.Wait(`document.querySelector("main").innerText.includes("No transaction was seen.")`)
	p.CheckLayout("no-trace")
}
