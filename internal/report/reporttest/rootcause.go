package reporttest

import (
	"time"

	"github.com/sonde-jvm/sonde/internal/classes/own"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
)

// The sample's methods, by index.
const (
	match = iota
	total
	place
	handle
	search
	listProducts
	audit
	getNode
	get
	find
	build
	warm
	deflate
	write
	export
	format
	nightly
	odd
	filter
	run
	worker
	price
)

func sampleMethods() []cct.Method {
	return []cct.Method{
		match:        {Class: "com/shop/pricing/Rules", Name: "match", Descriptor: "(Lcom/shop/Item;)Z"},
		total:        {Class: "com/shop/cart/Cart", Name: "total", Descriptor: "()J"},
		place:        {Class: "com/shop/order/Checkout", Name: "place", Descriptor: "(Lcom/shop/cart/Cart;)V"},
		handle:       {Class: "com/shop/web/CheckoutHandler", Name: "handle", Descriptor: "(Lcom/sun/net/httpserver/HttpExchange;)V"},
		search:       {Class: "com/shop/search/Ranking", Name: "rank", Descriptor: "(Ljava/util/List;)V"},
		listProducts: {Class: "com/shop/web/SearchHandler", Name: "handle", Descriptor: "(Lcom/sun/net/httpserver/HttpExchange;)V"},
		audit:        {Class: "com/shop/audit/PriceAudit", Name: "check", Descriptor: "()V"},
		getNode:      {Class: "java/util/HashMap", Name: "getNode", Descriptor: "(Ljava/lang/Object;)Ljava/util/HashMap$Node;"},
		get:          {Class: "java/util/HashMap", Name: "get", Descriptor: "(Ljava/lang/Object;)Ljava/lang/Object;"},
		find:         {Class: "com/shop/catalog/Tree", Name: "find", Descriptor: "(Ljava/lang/String;I)Lcom/shop/catalog/Tree;"},
		build:        {Class: "com/shop/catalog/Index", Name: "build", Descriptor: "()V"},
		warm:         {Class: "com/shop/catalog/Warmup", Name: "run", Descriptor: "()V"},
		deflate:      {Class: "java/util/zip/Deflater", Name: "deflateBytesBytes", Descriptor: "(J[BII[BIIII)J", Native: true},
		write:        {Class: "java/util/zip/GZIPOutputStream", Name: "write", Descriptor: "([BII)V"},
		export:       {Class: "com/shop/report/Export", Name: "compress", Descriptor: "([B)[B"},
		format:       {Class: "com/shop/report/Export", Name: "format", Descriptor: "(D)Ljava/lang/String;"},
		nightly:      {Class: "com/shop/report/Nightly", Name: "run", Descriptor: "()V"},
		odd:          {Class: "com/vendor/gen/Stub$$42", Name: "apply", Descriptor: "(Ljava/lang/Object;)Ljava/lang/Object;"},
		filter:       {Class: "com/shop/web/Filter", Name: "doFilter", Descriptor: "(Lcom/sun/net/httpserver/HttpExchange;)V"},
		run:          {Class: "java/util/concurrent/ThreadPoolExecutor", Name: "runWorker", Descriptor: "(Ljava/util/concurrent/ThreadPoolExecutor$Worker;)V"},
		worker:       {Class: "java/lang/Thread", Name: "run", Descriptor: "()V"},
		price:        {Class: "com/shop/pricing/Rules", Name: "lambda$price$0", Descriptor: "(Lcom/shop/Item;)J"},
	}
}

// took is what a hook measured whose calls last about mean.
func took(calls uint64, mean, over time.Duration) *rootcause.Measured {
	return &rootcause.Measured{
		Calls: calls, Timed: min(calls, 1000), Over: over, Total: time.Duration(calls) * mean, Mean: mean,
		P50: mean * 7 / 10, P90: mean * 2, P99: mean * 6, Max: mean * 23,
	}
}

func part(part, spread float64) rootcause.Share {
	return rootcause.Share{Part: part, Low: max(0, part-spread), High: min(1, part+spread)}
}

const (
	ms = time.Millisecond
	us = time.Microsecond
)

// threadEntry is the end of a way that was only seen.
func threadEntry(share rootcause.Share) []*rootcause.Caller {
	entry := &rootcause.Caller{Method: worker, Share: share, By: rootcause.BySamples, State: rootcause.Seen, Top: true, Reason: "a thread's entry"}
	return []*rootcause.Caller{{
		Method: run, Share: share, By: rootcause.BySamples, State: rootcause.Left, Reason: "its class is too central to be redefined cheaply", Above: []*rootcause.Caller{entry},
	}}
}

// RootCause returns the result of a root-cause search with everything that a report can
// show: three call paths, recursion, a hot spot of the JDK without a hook, a native one, and
// one that became hot and cooled during the search.
func RootCause() *rootcause.Climb {
	return &rootcause.Climb{
		Target:  cct.Target{PID: 4711, Command: "shop.jar", JDK: "17.0.15"},
		Began:   time.Date(2026, 11, 15, 8, 20, 11, 0, time.UTC),
		Took:    41200 * ms,
		Sampled: rootcause.Sampled{By: "flight recorder", Samples: 2310, Over: 38 * time.Second},
		Own:     own.Packages{Names: []string{"com.shop"}, From: "the main jar"},
		Methods: sampleMethods(),
		Owners: []rootcause.Owner{
			{Method: match, Share: part(0.41, 0.02), In: match, InPart: 1}, {Method: find, Share: part(0.2, 0.02), In: getNode, InPart: 0.97},
			{Method: -1, Share: part(0.1, 0.015), In: run, InPart: 0.4},
		},
		Spots: []rootcause.Spot{rulesSpot(), mapSpot(), deflateSpot(), formatSpot()},
		List:  sampleList(),
		Hooks: sampleHooks(),
		Batches: []rootcause.Batch{
			{At: 5400 * ms, Why: "12 methods on the call paths of 3 hot spots", In: true, Classes: 10, Pause: 9 * ms, Compile: 310 * ms},
			{At: 9200 * ms, Why: "a caller that no stack had shown", In: true, Classes: 1, Pause: 3 * ms, Compile: 41 * ms},
			{At: 22100 * ms, Why: "2 methods on the call paths of a hot spot that joined", In: true, Classes: 2, Pause: 3200 * us, Compile: 60 * ms},
			{At: 40600 * ms, Why: "all put back", Classes: 13, Pause: 8 * ms, Compile: 280 * ms},
		},
		Cost: rootcause.Cost{
			Hooked: 14, MostLive: 6, LiveLimit: 8, Executed: 48_213, Steady: 0.0061, Budget: 0.02,
			Pause: 23200 * us, Compile: 691 * ms, Redefined: 2,
		},
		Notes: []string{"2 of 4 hot spots are shorter than 1 µs: of those shares are by calls, not by time"},
	}
}

func rulesSpot() rootcause.Spot {
	cart := &rootcause.Caller{
		Method: total, Share: part(0.7, 0.015), By: rootcause.ByHooks, Calls: 700, Own: took(1002, 212*us, 480*ms), State: rootcause.Done,
		Above: []*rootcause.Caller{{
			Method: place, Share: part(0.7, 0.018), By: rootcause.ByHooks, Calls: 1002, Own: took(1000, 1900*us, 2*time.Second), State: rootcause.Done,
			Above: []*rootcause.Caller{{
				Method: handle, Share: part(0.62, 0.05), By: rootcause.ByHooks, Calls: 886, Own: took(611, 4*ms, 5*time.Second), State: rootcause.Done,
				Above: []*rootcause.Caller{{
					Method: filter, Share: part(0.62, 0.05), By: rootcause.Estimated, Calls: 611, Own: took(1000, 3*ms, 3*time.Second), State: rootcause.Done,
					Above: threadEntry(part(0.62, 0.05)),
				}},
			}, {
				Method: odd, Share: part(0.08, 0.05), By: rootcause.Estimated, Calls: 114, State: rootcause.Left, Reason: "its bytes are not known", Top: true,
			}},
		}},
	}
	ranking := &rootcause.Caller{
		Method: search, Share: part(0.25, 0.04), By: rootcause.ByHooks, Calls: 250, Own: took(1000, 96*us, 700*ms), State: rootcause.Done,
		Above: []*rootcause.Caller{{
			Method: listProducts, Share: part(0.25, 0.05), By: rootcause.Estimated, Calls: 1000, Own: took(1000, 3200*us, 4*time.Second), State: rootcause.Done,
			Above: threadEntry(part(0.25, 0.05)),
		}},
	}
	checking := &rootcause.Caller{
		Method: audit, Share: part(0.05, 0.009), By: rootcause.BySamples, Calls: 50, State: rootcause.Woven, Reason: "the walk ended before its turn",
	}
	return rootcause.Spot{
		Method: match, Share: part(0.412, 0.02), Kind: "compiled", Line: 88, From: 0, Own: took(1000, 38*us, 45*ms),
		Callers: []*rootcause.Caller{cart, ranking, checking},
	}
}

// mapSpot is a hot spot of the JDK's, reached by recursion.
func mapSpot() rootcause.Spot {
	outer := &rootcause.Caller{
		Method: build, Share: part(0.9, 0.03), By: rootcause.ByHooks, Calls: 12, Own: took(12, 810*ms, 5*time.Second), State: rootcause.Done,
		Above: []*rootcause.Caller{{
			Method: warm, Share: part(0.9, 0.03), By: rootcause.BySamples, State: rootcause.Seen, Top: true, Reason: "the boundary: package com.shop.catalog is left",
		}},
	}
	again := &rootcause.Caller{
		Method: find, Share: part(0.9, 0.03), By: rootcause.ByHooks, Calls: 655, Own: nil, State: rootcause.Done, Above: []*rootcause.Caller{outer},
	}
	finding := &rootcause.Caller{
		Method: find, Share: part(0.9, 0.02), By: rootcause.ByHooks, Calls: 900, Own: took(1000, 700*time.Nanosecond, 30*ms), State: rootcause.Done,
		Above: []*rootcause.Caller{again},
	}
	pricing := &rootcause.Caller{
		Method: price, Share: part(0.1, 0.02), By: rootcause.ByHooks, Calls: 100, Own: took(1000, 30*time.Nanosecond, 30*ms), State: rootcause.Done,
	}
	getting := &rootcause.Caller{
		Method: get, Share: part(1, 0), By: rootcause.BySamples, State: rootcause.Left, Reason: "its class is too central to be redefined cheaply",
		Above: []*rootcause.Caller{finding, pricing},
	}
	return rootcause.Spot{
		Method: getNode, Share: part(0.22, 0.017), Kind: "inlined", Line: 576,
		Above:   "java.util.HashMap is used by half of all compiled code: to redefine it would cost seconds",
		Callers: []*rootcause.Caller{getting},
	}
}

func deflateSpot() rootcause.Spot {
	compressing := &rootcause.Caller{
		Method: export, Share: part(1, 0), By: rootcause.ByHooks, Calls: 1000, Own: took(1000, 2*ms, 3*time.Second), State: rootcause.Done,
		Above: []*rootcause.Caller{{Method: nightly, Share: part(1, 0), By: rootcause.BySamples, State: rootcause.Seen, Top: true, Reason: "a thread's entry"}},
	}
	return rootcause.Spot{
		Method: deflate, Share: part(0.11, 0.013), Kind: "native", Above: "it is native: the hooks are at its calls",
		Callers: []*rootcause.Caller{{
			Method: write, Share: part(1, 0), By: rootcause.ByHooks, Calls: 1000, Own: took(1000, 180*us, 900*ms), State: rootcause.Done, Above: []*rootcause.Caller{compressing},
		}},
	}
}

// formatSpot joined the others, and cooled down.
func formatSpot() rootcause.Spot {
	return rootcause.Spot{
		Method: format, Share: part(0.06, 0.01), Kind: "interpreted", Line: 31, From: 21 * time.Second, Until: 33 * time.Second, Own: took(1000, 9*us, 60*ms),
		Callers: []*rootcause.Caller{{
			Method: nightly, Share: part(1, 0), By: rootcause.ByHooks, Calls: 1000, Own: took(3, 4*time.Second, 5*time.Second), State: rootcause.Done, Top: true, Reason: "a thread's entry",
		}},
	}
}

func sampleHooks() []rootcause.Live {
	hook := func(spot, level, method int, from, until time.Duration, calls, drawn uint64) rootcause.Live {
		return rootcause.Live{Method: method, Spot: spot, Level: level, From: from, Until: until, Calls: calls, Drawn: drawn}
	}
	return []rootcause.Live{
		hook(0, 0, match, 5500*ms, 5545*ms, 1000, 1000),
		hook(1, 2, find, 5500*ms, 5530*ms, 1000, 1000),
		hook(1, 2, price, 5500*ms, 5530*ms, 1000, 1000),
		hook(2, 1, write, 5500*ms, 6400*ms, 1000, 1000),
		hook(1, 3, find, 5530*ms, 6100*ms, 20_004, 655),
		hook(0, 1, total, 5545*ms, 6025*ms, 1002, 1002),
		hook(0, 1, search, 5545*ms, 6245*ms, 1000, 1000),
		hook(0, 2, place, 6025*ms, 8025*ms, 1000, 1000),
		hook(1, 4, build, 6100*ms, 11100*ms, 12, 12),
		hook(0, 2, listProducts, 6245*ms, 10245*ms, 1000, 1000),
		hook(2, 2, export, 6400*ms, 9400*ms, 1000, 1000),
		hook(0, 3, handle, 8025*ms, 13025*ms, 611, 611),
		hook(0, 4, filter, 13025*ms, 16025*ms, 1000, 1000),
		hook(3, 0, format, 22200*ms, 22260*ms, 1000, 1000),
		hook(3, 1, nightly, 22260*ms, 27260*ms, 3, 3),
	}
}

func sampleList() []rootcause.Entry {
	return []rootcause.Entry{
		{Method: match, State: rootcause.Done, Hits: 1000, Callers: []int{total, search, audit}},
		{Method: total, State: rootcause.Done, Hits: 1002, Callers: []int{place}, Callees: []int{match}},
		{Method: place, State: rootcause.Done, Hits: 1000, Callers: []int{handle, odd}, Callees: []int{total}},
		{Method: handle, State: rootcause.Done, Hits: 611, Callers: []int{filter}, Callees: []int{place}},
		{Method: filter, State: rootcause.Done, Hits: 1000, Callers: []int{run}, Callees: []int{handle}},
		{Method: search, State: rootcause.Done, Hits: 1000, Callers: []int{listProducts}, Callees: []int{match}},
		{Method: listProducts, State: rootcause.Done, Hits: 1000, Callers: []int{run}, Callees: []int{search}},
		{Method: audit, State: rootcause.Woven, Reason: "the walk ended before its turn", Callees: []int{match}},
		{Method: odd, State: rootcause.Left, Reason: "its bytes are not known", Callees: []int{place}},
		{Method: run, State: rootcause.Left, Reason: "its class is too central to be redefined cheaply", Callers: []int{worker}, Callees: []int{filter, listProducts}},
		{Method: worker, State: rootcause.Seen, Callees: []int{run}},
		{Method: getNode, State: rootcause.Left, Reason: "its class is too central to be redefined cheaply", Callers: []int{get}},
		{Method: get, State: rootcause.Left, Reason: "its class is too central to be redefined cheaply", Callers: []int{find, price}, Callees: []int{getNode}},
		{Method: find, State: rootcause.Done, Hits: 21_004, Callers: []int{find, build}, Callees: []int{get, find}},
		{Method: price, State: rootcause.Done, Hits: 1000, Callees: []int{get}},
		{Method: build, State: rootcause.Done, Hits: 12, Callers: []int{warm}, Callees: []int{find}},
		{Method: warm, State: rootcause.Seen, Callees: []int{build}},
		{Method: deflate, State: rootcause.Left, Reason: "it is native: the hooks are at its calls", Callers: []int{write}},
		{Method: write, State: rootcause.Done, Hits: 1000, Callers: []int{export}, Callees: []int{deflate}},
		{Method: export, State: rootcause.Done, Hits: 1000, Callers: []int{nightly}, Callees: []int{write}},
		{Method: format, State: rootcause.Done, Hits: 1000, Callers: []int{nightly}},
		{Method: nightly, State: rootcause.Done, Hits: 3, Callees: []int{export, format}},
	}
}
