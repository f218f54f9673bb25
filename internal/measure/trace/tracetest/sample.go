// Package tracetest provides a trace for tests that contains everything a trace can contain.
package tracetest

import (
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Hostile are texts that must come out of every report as nothing but text.
const (
	HostileClass = `com/evil/<script>alert(1)</script>`
	HostileName  = `a"b'&</style>`
	HostileValue = "\x1b[31mred\x1b[0m\n</script><img src=x onerror=alert(1)>\u202e"
)

// The hooks of the sample.
const (
	checkout uint32 = iota + 70_000
	load
	query
	charge
	authorise
	send
	audit
	index
	hostile
)

const (
	ms = 1_000_000
	us = 1_000
	// opened is what the target's clock showed when the arena was made.
	opened = 5_000 * ms
	gold   = 8193
	silver = 8194
	nasty  = 8195
)

func names() *liveprobes.Names {
	tag := func(name, value string) results.TagValue {
		return results.TagValue{Name: name, Value: value, Set: true}
	}
	labels := map[uint32]results.Label{
		gold:   {Tags: []results.TagValue{tag("tier", "gold"), tag("tenant", "acme")}},
		silver: {Tags: []results.TagValue{tag("tier", "silver")}},
		nasty:  {Tags: []results.TagValue{tag("x", HostileValue)}},
	}
	return &liveprobes.Names{Labels: labels, Spots: map[uint32]probes.SpotName{
		checkout: {Class: "com/acme/shop/Shop", Name: "checkout", Descriptor: "(Lcom/acme/shop/Cart;)Lcom/acme/shop/Order;", Probe: "methods"},
		load:     {Class: "com/acme/shop/CartRepository", Name: "load", Descriptor: "(J)Lcom/acme/shop/Cart;"},
		query:    {Class: "com/acme/db/Db", Name: "query", Descriptor: "(Ljava/lang/String;)Ljava/util/List;"},
		charge: {Class: "com/acme/pay/PaymentGatewayClient", Name: "charge", Descriptor: "(JLjava/lang/String;)Z", Conditional: true, Captures: []probes.CaptureName{
			{Index: 0, Text: "$1.amount"}, {Index: 1, Text: "$2.cardNumber", Redacted: true}, {Index: 2, Text: "$query"},
			{Index: probes.ExitCapture, Text: "$return"},
		}},
		authorise: {Class: "com/acme/pay/Bank", Name: "authorise", Descriptor: "(J)Z"},
		send:      {Class: "com/acme/mail/Mailer", Name: "send", Descriptor: "()V"},
		audit:     {Class: "com/acme/audit/Audit", Name: "write", Descriptor: "()V"},
		index:     {Class: "com/acme/search/Indexer", Name: "update", Descriptor: "()V"},
		hostile: {Class: HostileClass, Name: HostileName, Descriptor: "()V", Captures: []probes.CaptureName{
			{Index: 0, Text: "$1"}, {Index: 1, Text: "$2"},
		}},
	}}
}

// Sample is the trace. It is the same each time.
func Sample() *trace.Trace {
	began := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	a := trace.NewAssembler(trace.Options{
		Names: names, Redact: trace.NewRedactor(nil), Clock: trace.Clock{Wall: began, Nanos: opened}, Cost: trace.Cost{Inner: 34, Outer: 81},
	})
	t := &trace.Trace{
		Target: trace.Target{PID: 4711, Command: "com.acme.shop.Main", JDK: "25.0.3"}, Command: "sonde trace 4711 com.acme.shop.Shop.checkout",
		Methods: []string{"com.acme.shop.Shop.checkout"}, Conditions: []string{"within com.acme.web.Web.handle", "slower than 10 ms"}, Levels: 4,
		Began: began, Took: 12_340 * time.Millisecond, Cost: trace.Cost{Inner: 34, Outer: 81},
		Losses: trace.Losses{NotChosen: 1204, Dropped: 3, Undecided: 2, Ambiguous: 1},
		Notes:  []string{"com.acme.shop.Cart.<init> was left alone: <native>"},
	}
	slow(a)
	quick(a)
	evil(a)
	t.Transactions = a.Flush()
	for _, one := range t.Transactions {
		one.NameThreads(map[uint64]string{23: "http-1", 24: "worker <b>7</b>"})
	}
	t.Losses.Counts = a.Counts()
	return t
}

// A pen writes the calls of one thread of a transaction.
type pen struct {
	*trace.Assembler
	ring  uint32
	id    uint64
	label uint32
}

func (p pen) call(spot, depth uint32, start, nanos uint64, more ...func(*arena.Record)) {
	r := arena.Record{Kind: arena.CallRecord, Transaction: p.id, Depth: depth, ID: spot, Start: opened + start, Nanos: nanos, Label: p.label, Thread: 22 + p.ring, Root: depth == 0}
	for _, change := range more {
		change(&r)
	}
	p.Add(p.ring, r)
}

// value writes one of the next call at depth 1.
func (p pen) value(r arena.Record) {
	r.Kind, r.Transaction, r.Depth = arena.ValueRecord, p.id, 1
	p.Add(p.ring, r)
}

func threw(r *arena.Record)  { r.Threw = true }
func handed(r *arena.Record) { r.Handed = true }
func lost(r *arena.Record)   { r.Lost = 3 }
func isCut(r *arena.Record)  { r.Cut = true }

// slow has repeated calls, values, an exception and parts on two other threads.
func slow(a *trace.Assembler) {
	p := pen{a, 1, 1<<32 | 1, gold}
	for n := range uint64(37) {
		p.call(query, 2, 2*ms+n*900*us, (300+n*10)*us)
	}
	p.call(load, 1, 1*ms, 36*ms)
	p.value(arena.Record{Index: 0, Text: "129.90"})
	p.value(arena.Record{Index: 2, Text: "user=7&token=abc123&lang=de", Cut: true})
	p.call(authorise, 2, 48*ms, 95*ms)
	p.value(arena.Record{Index: 0, AtExit: true, Text: "true"})
	p.call(charge, 1, 41*ms, 112*ms)
	p.call(send, 1, 155*ms, 1_700*us, threw)
	part := pen{a, 2, p.id, gold}
	part.call(query, 2, 160*ms, 20*ms)
	part.call(audit, 1, 157*ms, 30*ms, handed)
	p.call(checkout, 0, 0, 182*ms, lost)
	other := pen{a, 3, p.id, gold}
	other.call(index, 1, 170*ms, 44*ms, handed)
}

// quick has more calls of one method by another than are kept, and belongs to a trace of others.
func quick(a *trace.Assembler) {
	p := pen{a, 4, 4<<32 | 1, silver}
	p.value(arena.Record{Index: arena.TraceValue, Text: "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"})
	for n := range uint64(100) {
		p.call(query, 2, 401*ms+n*29*us, 20*us)
	}
	p.call(load, 1, 401*ms, 3*ms)
	p.call(authorise, 2, 405*ms, 4*ms)
	p.value(arena.Record{Index: 0, Null: true})
	p.value(arena.Record{Index: 2, Failed: true})
	p.call(charge, 1, 404*ms, 6*ms)
	p.call(checkout, 0, 400*ms, 12*ms)
}

func evil(a *trace.Assembler) {
	p := pen{a, 5, 5<<32 | 1, nasty}
	p.value(arena.Record{Index: 0, Text: HostileValue})
	p.value(arena.Record{Index: 1, Text: "日本語 \"quoted\""})
	p.call(hostile, 1, 801*ms, 800*us, isCut)
	p.call(hostile, 0, 800*ms, 20*ms)
}
