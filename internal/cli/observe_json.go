package cli

import (
	"github.com/sonde-jvm/sonde/internal/measure/suggest"
)

// proposalJSON is what `sonde observe --json` writes. Shares, budget and costs are parts
// of a whole.
type proposalJSON struct {
	PID        int              `json:"pid,omitempty"` // none of archives
	JDK        string           `json:"jdk,omitempty"`
	Main       string           `json:"main,omitempty"`
	Files      []string         `json:"files,omitempty"`
	Classes    int              `json:"classesRead"`
	Budget     float64          `json:"budget,omitempty"`
	Cost       float64          `json:"expectedCost"`
	Coverage   float64          `json:"coverage"`
	CallNanos  float64          `json:"callNanos,omitempty"`
	Processors float64          `json:"processors,omitempty"` // that the program used
	Samples    int              `json:"samples"`
	Seconds    float64          `json:"sampledSeconds,omitempty"`
	Counted    int              `json:"methodsCounted"`
	Bias       string           `json:"bias,omitempty"`
	Probes     []proposedJSON   `json:"probes"`
	NotCovered []bareJSON       `json:"notCovered,omitempty"`
	LeftOut    []unproposedJSON `json:"leftOut,omitempty"`
	More       int              `json:"methodsBeyondBound,omitempty"`
	YAML       string           `json:"yaml"`
	Applied    *trialJSON       `json:"applied,omitempty"`
}

type proposedJSON struct {
	Name    string             `json:"name"`
	Reason  string             `json:"reason"`
	Why     string             `json:"why"`
	Methods []proposedCallJSON `json:"methods"`
}

type proposedCallJSON struct {
	Pattern   string    `json:"pattern"`
	Share     float64   `json:"share"`               // of samples above whose leaf it stands
	Leaf      float64   `json:"leafShare,omitempty"` // of samples in which it is only the leaf
	PerSecond float64   `json:"callsPerSecond"`
	MeanNanos int64     `json:"meanNanos,omitempty"`
	Cost      float64   `json:"cost"`
	Timed     uint32    `json:"timedOneIn,omitempty"` // none where all are
	Entry     string    `json:"takesRequestsBy,omitempty"`
	Uses      []useJSON `json:"uses,omitempty"`
	Blocked   float64   `json:"threadsBlocked,omitempty"`
	Network   float64   `json:"threadsWaitingForNetwork,omitempty"`
	Files     float64   `json:"threadsWaitingForFiles,omitempty"`
}

type useJSON struct {
	Kind string `json:"kind"`
	Call string `json:"call"`
}

type bareJSON struct {
	Below string  `json:"below"`
	Share float64 `json:"share"`
}

type unproposedJSON struct {
	Method string  `json:"method"`
	Share  float64 `json:"share"`
	Why    string  `json:"why"`
}

type trialJSON struct {
	Seconds    float64    `json:"seconds"`
	Methods    int        `json:"methods"`
	Calls      uint64     `json:"calls"`
	Cost       float64    `json:"cost"`
	InBudget   bool       `json:"inBudget"`
	Coverage   float64    `json:"coverage"`
	Samples    int        `json:"samples"`
	NotCovered []bareJSON `json:"notCovered,omitempty"`
	LeftAlone  []string   `json:"leftAlone,omitempty"`
}

func describeProposal(p *suggest.Proposal, t *suggest.Trial) proposalJSON {
	d := proposalJSON{
		PID: p.PID, JDK: p.JDK, Main: p.Main, Files: p.Inputs, Classes: p.Read, Budget: p.Budget, Cost: p.Cost, Coverage: p.Coverage, CallNanos: p.Nanos,
		Processors: p.Use, Samples: p.Samples, Seconds: p.Sampled.Seconds(), Counted: p.Counted, Bias: p.Bias, More: p.More, YAML: string(p.YAML()),
		NotCovered: describeBare(p.Bare),
	}
	for _, line := range p.Lines() {
		one := proposedJSON{Name: line.Name, Reason: line.Reason, Why: string(line.Choices[0].Why)}
		for i, c := range line.Choices {
			method := proposedCallJSON{
				Pattern: line.Patterns[i], Share: c.Share, Leaf: c.Leaf, PerSecond: c.PerSecond, MeanNanos: int64(c.Mean), Cost: c.Takes(), Timed: c.Sample(), Entry: c.Entry,
				Blocked: c.Blocked, Network: c.Network, Files: c.Files,
			}
			for _, use := range c.Uses {
				method.Uses = append(method.Uses, useJSON{string(use.Kind), use.Call})
			}
			one.Methods = append(one.Methods, method)
		}
		d.Probes = append(d.Probes, one)
	}
	for _, left := range p.Left {
		d.LeftOut = append(d.LeftOut, unproposedJSON{left.Method.String(), left.Share, left.Why})
	}
	if t != nil {
		d.Applied = &trialJSON{
			Seconds: t.Took.Seconds(), Methods: t.Methods, Calls: t.Calls, Cost: t.Cost, InBudget: t.Cost <= p.Budget, Coverage: t.Coverage,
			Samples: t.Samples, NotCovered: describeBare(t.Bare), LeftAlone: t.Left,
		}
	}
	return d
}

func describeBare(bare []suggest.Bare) (all []bareJSON) {
	for _, b := range bare {
		all = append(all, bareJSON{b.Method.String(), b.Share})
	}
	return all
}
