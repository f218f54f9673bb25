package reporttest

import (
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/drill"
)

// Drill returns the result of a search from a slow method to its cause.
func Drill() *drill.Result {
	share := func(part float64) cct.Share { return cct.Share{Part: part, Low: part - 0.05, High: part + 0.05} }
	contrast := func(slow, normal, part float64) drill.Contrast {
		return drill.Contrast{Slow: slow * 1e6, Normal: normal * 1e6, Share: share(part)}
	}
	r := &drill.Result{
		Target: cct.Target{PID: 4711, Command: "shop.Main", JDK: "25"}, Command: "sonde drill shop.Checkout.place", Methods: []string{"shop.Checkout.place"},
		Goal: 10 * time.Millisecond, Began: time.Date(2026, 11, 18, 2, 0, 0, 0, time.UTC), Took: 21 * time.Second, Ended: "cause",
		Path: []drill.Level{
			{
				Class: "shop.Checkout", Method: "place", Contrast: contrast(31.9, 1.2, 1), Own: contrast(0.3, 0.3, 0), SlowCalls: 1, NormalCalls: 1,
				Others: []drill.Sibling{{Class: "shop.Pricing", Method: "quote", Contrast: contrast(2, 0.4, 0.05)}, {Class: "shop.Log", Method: "add", Contrast: contrast(0.2, 0.1, 0.01)}},
			},
			{Class: "shop.Loyalty", Method: "balance", Contrast: contrast(29, 0.5, 0.93), Own: contrast(0.1, 0.1, 0), SlowCalls: 1, NormalCalls: 0.25},
			{Class: "shop.Archive", Method: "<evil>\x1b[31m", Contrast: contrast(28, 0.2, 0.91), Own: contrast(27, 0.2, 0.87), SlowCalls: 60, NormalCalls: 0.5, Handed: true},
		},
		Cause: &drill.Cause{
			Kind: drill.Locked, Class: "shop.Archive", Method: "add", Share: 0.87,
			States: []drill.State{
				{Wait: jfr.Monitor, Share: cct.Share{Part: 0.9, Low: 0.8, High: 0.95}, Samples: 118, Through: "shop.Archive.add", In: "shop.Archive.add", InPart: 1},
				{Wait: jfr.Running, Share: cct.Share{Part: 0.08, Low: 0.02, High: 0.15}, Samples: 9, In: "java.util.HashMap.get", InPart: 0.33},
				{Wait: jfr.IO, Share: cct.Share{Part: 0.02, High: 0.05}, Samples: 1},
			},
			Lock: &drill.Lock{Class: "shop.Archive", Holder: "archiver", In: "shop.Archiver.run", Holding: []string{"java.io.FileOutputStream.write", "shop.Archiver.run"}, Seen: 3},
		},
		When:   &drill.Rule{Terms: []drill.Term{{Name: "customer.tier", Op: "=", Value: "PREMIUM"}, {Name: "lines.size", Op: ">", Value: "40"}}, SlowCalls: 60, Slow: 61, NormalOnes: 3, Normal: 410},
		Values: []string{"customer.tier", "lines.size"},
		Steps: []drill.Step{
			{Text: "trace shop.Checkout.place", Methods: 1, Woven: 1},
			{At: 4300 * time.Millisecond, Text: "callees of shop.Checkout.place", Methods: 13, Woven: 12, Settled: 2100 * time.Millisecond},
		},
		SampledBy: "kernel", Period: 20, HookShare: 0.012, Budget: 0.02, Removed: true, Notes: []string{"a note"},
	}
	r.Slow = drill.Calls{Calls: 61, Mean: 31900 * time.Microsecond, Longest: 88 * time.Millisecond}
	r.Normal = drill.Calls{Calls: 410, Mean: 1200 * time.Microsecond, Longest: 9 * time.Millisecond}
	r.Cause.Describe()
	return r
}

// DrillTraced returns the result of a search by calls that the JVM's flight recorder has traced.
func DrillTraced() *drill.Result {
	r := Drill()
	r.Recorded = &drill.RecordedBy{Why: "its option -XX:-EnableDynamicAgentLoading forbids loading agents", Threshold: 200 * time.Microsecond, Rate: 1210.4}
	r.When, r.Values, r.Period, r.HookShare, r.Budget = nil, nil, 0, 0, 0
	return r
}

// DrillWithoutHooks returns the result of a search in a JVM that forbids agents.
func DrillWithoutHooks() *drill.Result {
	r := Drill()
	r.Unhooked = &drill.Unhooked{Why: "its option -XX:-EnableDynamicAgentLoading forbids loading agents", Samples: 1210, Threads: 1.4}
	r.Slow, r.Normal, r.When, r.Values, r.Steps, r.Period, r.HookShare = drill.Calls{}, drill.Calls{}, nil, nil, nil, 0, 0
	for i, samples := range []int{1210, 1125, 1100} {
		l := &r.Path[i]
		l.Samples, l.SlowCalls, l.NormalCalls, l.Handed = samples, 0, 0, false
		l.Contrast, l.Own = drill.Contrast{Share: l.Share}, drill.Contrast{Share: l.Own.Share}
	}
	for i := range r.Path[0].Others {
		r.Path[0].Others[i].Contrast = drill.Contrast{Share: r.Path[0].Others[i].Share}
	}
	return r
}
