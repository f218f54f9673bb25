package record

import (
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/climb"
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

func sampleMethods() []climb.Method {
	return []climb.Method{
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
func took(calls uint64, mean, over time.Duration) *climb.Measured {
	return &climb.Measured{
		Calls: calls, Timed: min(calls, 1000), Over: over, Total: time.Duration(calls) * mean, Mean: mean,
		P50: mean * 7 / 10, P90: mean * 2, P99: mean * 6, Max: mean * 23,
	}
}

func part(part, spread float64) climb.Share {
	return climb.Share{Part: part, Low: max(0, part-spread), High: min(1, part+spread)}
}

const (
	ms = time.Millisecond
	us = time.Microsecond
)

// threadEntry is the end of a way that was only seen.
func threadEntry(share climb.Share) []*climb.Caller {
	entry := &climb.Caller{Method: worker, Share: share, By: climb.BySamples, State: climb.Seen, Top: true, Reason: "a thread's entry"}
	return []*climb.Caller{{
		Method: run, Share: share, By: climb.BySamples, State: climb.Left, Reason: "its class is too central to be redefined cheaply", Above: []*climb.Caller{entry},
	}}
}

// sampleClimb is a walk with all that one can show: three ways, recursion, a hot
// spot of the JDK's that has no hook, a native one, one that joined and cooled.
func sampleClimb() *climb.Climb {
	return &climb.Climb{
		Target:  climb.Target{PID: 4711, Command: "shop.jar", JDK: "17.0.15"},
		Began:   time.Date(2026, 11, 15, 8, 20, 11, 0, time.UTC),
		Took:    41200 * ms,
		Sampled: climb.Sampled{By: "flight recorder", Samples: 2310, Over: 38 * time.Second},
		Methods: sampleMethods(),
		Spots:   []climb.Spot{rulesSpot(), mapSpot(), deflateSpot(), formatSpot()},
		List:    sampleList(),
		Hooks:   sampleHooks(),
		Batches: []climb.Batch{
			{At: 5400 * ms, Why: "12 methods on the way up from 3 hot spots", In: true, Classes: 10, Pause: 9 * ms, Compile: 310 * ms},
			{At: 9200 * ms, Why: "a caller that no stack had shown", In: true, Classes: 1, Pause: 3 * ms, Compile: 41 * ms},
			{At: 22100 * ms, Why: "2 methods on the way up from a hot spot that joined", In: true, Classes: 2, Pause: 3200 * us, Compile: 60 * ms},
			{At: 40600 * ms, Why: "all put back", Classes: 13, Pause: 8 * ms, Compile: 280 * ms},
		},
		Cost: climb.Cost{
			Hooked: 14, MostLive: 6, LiveLimit: 8, Executed: 48_213, Steady: 0.0061, Budget: 0.02,
			Pause: 23200 * us, Compile: 691 * ms, Redefined: 2,
		},
		Notes: []string{"2 of 4 hot spots are shorter than 1 µs: of those shares are by calls, not by time"},
	}
}

func rulesSpot() climb.Spot {
	cart := &climb.Caller{
		Method: total, Share: part(0.7, 0.015), By: climb.ByHooks, Calls: 700, Own: took(1002, 212*us, 480*ms), State: climb.Done,
		Above: []*climb.Caller{{
			Method: place, Share: part(0.7, 0.018), By: climb.ByHooks, Calls: 1002, Own: took(1000, 1900*us, 2*time.Second), State: climb.Done,
			Above: []*climb.Caller{{
				Method: handle, Share: part(0.62, 0.05), By: climb.ByHooks, Calls: 886, Own: took(611, 4*ms, 5*time.Second), State: climb.Done,
				Above: []*climb.Caller{{
					Method: filter, Share: part(0.62, 0.05), By: climb.Reckoned, Calls: 611, Own: took(1000, 3*ms, 3*time.Second), State: climb.Done,
					Above: threadEntry(part(0.62, 0.05)),
				}},
			}, {
				Method: odd, Share: part(0.08, 0.05), By: climb.Reckoned, Calls: 114, State: climb.Left, Reason: "its bytes are not known", Top: true,
			}},
		}},
	}
	ranking := &climb.Caller{
		Method: search, Share: part(0.25, 0.04), By: climb.ByHooks, Calls: 250, Own: took(1000, 96*us, 700*ms), State: climb.Done,
		Above: []*climb.Caller{{
			Method: listProducts, Share: part(0.25, 0.05), By: climb.Reckoned, Calls: 1000, Own: took(1000, 3200*us, 4*time.Second), State: climb.Done,
			Above: threadEntry(part(0.25, 0.05)),
		}},
	}
	checking := &climb.Caller{
		Method: audit, Share: part(0.05, 0.009), By: climb.BySamples, Calls: 50, State: climb.Woven, Reason: "the walk ended before its turn",
	}
	return climb.Spot{
		Method: match, Share: part(0.412, 0.02), Kind: "compiled", Line: 88, From: 0, Own: took(1000, 38*us, 45*ms),
		Callers: []*climb.Caller{cart, ranking, checking},
	}
}

// mapSpot is a hot spot of the JDK's, reached by recursion.
func mapSpot() climb.Spot {
	outer := &climb.Caller{
		Method: build, Share: part(0.9, 0.03), By: climb.ByHooks, Calls: 12, Own: took(12, 810*ms, 5*time.Second), State: climb.Done,
		Above: []*climb.Caller{{
			Method: warm, Share: part(0.9, 0.03), By: climb.BySamples, State: climb.Seen, Top: true, Reason: "the boundary: package com.shop.catalog is left",
		}},
	}
	again := &climb.Caller{
		Method: find, Share: part(0.9, 0.03), By: climb.ByHooks, Calls: 655, Own: nil, State: climb.Done, Above: []*climb.Caller{outer},
	}
	finding := &climb.Caller{
		Method: find, Share: part(0.9, 0.02), By: climb.ByHooks, Calls: 900, Own: took(1000, 700*time.Nanosecond, 30*ms), State: climb.Done,
		Above: []*climb.Caller{again},
	}
	pricing := &climb.Caller{
		Method: price, Share: part(0.1, 0.02), By: climb.ByHooks, Calls: 100, Own: took(1000, 30*time.Nanosecond, 30*ms), State: climb.Done,
	}
	getting := &climb.Caller{
		Method: get, Share: part(1, 0), By: climb.BySamples, State: climb.Left, Reason: "its class is too central to be redefined cheaply",
		Above: []*climb.Caller{finding, pricing},
	}
	return climb.Spot{
		Method: getNode, Share: part(0.22, 0.017), Kind: "inlined", Line: 576,
		Above:   "java.util.HashMap is used by half of all compiled code: to redefine it would cost seconds",
		Callers: []*climb.Caller{getting},
	}
}

func deflateSpot() climb.Spot {
	compressing := &climb.Caller{
		Method: export, Share: part(1, 0), By: climb.ByHooks, Calls: 1000, Own: took(1000, 2*ms, 3*time.Second), State: climb.Done,
		Above: []*climb.Caller{{Method: nightly, Share: part(1, 0), By: climb.BySamples, State: climb.Seen, Top: true, Reason: "a thread's entry"}},
	}
	return climb.Spot{
		Method: deflate, Share: part(0.11, 0.013), Kind: "native", Above: "it is native: the hooks are at its calls",
		Callers: []*climb.Caller{{
			Method: write, Share: part(1, 0), By: climb.ByHooks, Calls: 1000, Own: took(1000, 180*us, 900*ms), State: climb.Done, Above: []*climb.Caller{compressing},
		}},
	}
}

// formatSpot joined the others, and cooled down.
func formatSpot() climb.Spot {
	return climb.Spot{
		Method: format, Share: part(0.06, 0.01), Kind: "interpreted", Line: 31, From: 21 * time.Second, Until: 33 * time.Second, Own: took(1000, 9*us, 60*ms),
		Callers: []*climb.Caller{{
			Method: nightly, Share: part(1, 0), By: climb.ByHooks, Calls: 1000, Own: took(3, 4*time.Second, 5*time.Second), State: climb.Done, Top: true, Reason: "a thread's entry",
		}},
	}
}

func sampleHooks() []climb.Live {
	hook := func(spot, level, method int, from, until time.Duration, calls, drawn uint64) climb.Live {
		return climb.Live{Method: method, Spot: spot, Level: level, From: from, Until: until, Calls: calls, Drawn: drawn}
	}
	return []climb.Live{
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

func sampleList() []climb.Entry {
	return []climb.Entry{
		{Method: match, State: climb.Done, Hits: 1000, Callers: []int{total, search, audit}},
		{Method: total, State: climb.Done, Hits: 1002, Callers: []int{place}, Callees: []int{match}},
		{Method: place, State: climb.Done, Hits: 1000, Callers: []int{handle, odd}, Callees: []int{total}},
		{Method: handle, State: climb.Done, Hits: 611, Callers: []int{filter}, Callees: []int{place}},
		{Method: filter, State: climb.Done, Hits: 1000, Callers: []int{run}, Callees: []int{handle}},
		{Method: search, State: climb.Done, Hits: 1000, Callers: []int{listProducts}, Callees: []int{match}},
		{Method: listProducts, State: climb.Done, Hits: 1000, Callers: []int{run}, Callees: []int{search}},
		{Method: audit, State: climb.Woven, Reason: "the walk ended before its turn", Callees: []int{match}},
		{Method: odd, State: climb.Left, Reason: "its bytes are not known", Callees: []int{place}},
		{Method: run, State: climb.Left, Reason: "its class is too central to be redefined cheaply", Callers: []int{worker}, Callees: []int{filter, listProducts}},
		{Method: worker, State: climb.Seen, Callees: []int{run}},
		{Method: getNode, State: climb.Left, Reason: "its class is too central to be redefined cheaply", Callers: []int{get}},
		{Method: get, State: climb.Left, Reason: "its class is too central to be redefined cheaply", Callers: []int{find, price}, Callees: []int{getNode}},
		{Method: find, State: climb.Done, Hits: 21_004, Callers: []int{find, build}, Callees: []int{get, find}},
		{Method: price, State: climb.Done, Hits: 1000, Callees: []int{get}},
		{Method: build, State: climb.Done, Hits: 12, Callers: []int{warm}, Callees: []int{find}},
		{Method: warm, State: climb.Seen, Callees: []int{build}},
		{Method: deflate, State: climb.Left, Reason: "it is native: the hooks are at its calls", Callers: []int{write}},
		{Method: write, State: climb.Done, Hits: 1000, Callers: []int{export}, Callees: []int{deflate}},
		{Method: export, State: climb.Done, Hits: 1000, Callers: []int{nightly}, Callees: []int{write}},
		{Method: format, State: climb.Done, Hits: 1000, Callers: []int{nightly}},
		{Method: nightly, State: climb.Done, Hits: 3, Callees: []int{export, format}},
	}
}
