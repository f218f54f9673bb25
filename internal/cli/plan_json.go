package cli

import (
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
	"github.com/sonde-jvm/sonde/internal/weave/pack/build"
)

// forecastJSON is what `sonde plan --json` writes.
type forecastJSON struct {
	Inputs    []string             `json:"inputs"`
	Read      int                  `json:"classesRead"`
	ByFate    map[string]fateCount `json:"byFate"`
	Classes   []fateJSON           `json:"classes"`
	Probes    []foundJSON          `json:"probes"`
	Tags      []foundJSON          `json:"tags,omitempty"`
	Unmatched []unmatchedJSON      `json:"unmatched,omitempty"`
	Notes     []string             `json:"notes,omitempty"`
	Refused   string               `json:"packRefused,omitempty"`
	wovenJSON
}

type fateCount struct {
	Classes int `json:"classes"`
	Methods int `json:"methods"`
}

type fateJSON struct {
	Class   string        `json:"class"`
	In      string        `json:"in,omitempty"`
	JDK     bool          `json:"jdk,omitempty"`
	Fate    string        `json:"fate"`
	Why     string        `json:"why"`
	Methods int           `json:"methods"`
	Left    []leftOutJSON `json:"leftAlone,omitempty"`
}

type foundJSON struct {
	Name    string        `json:"name"`
	Methods []string      `json:"methods"`
	Anchors int           `json:"methodsOfSequences,omitempty"`
	LeftOut []leftOutJSON `json:"leftOut,omitempty"`
}

type leftOutJSON struct {
	Class  string `json:"class,omitempty"`
	Method string `json:"method,omitempty"`
	Reason string `json:"reason"`
}

type unmatchedJSON struct {
	What    string `json:"what"`
	Pattern string `json:"pattern"`
	InJDK   bool   `json:"inJDK,omitempty"`
}

func (f *forecast) describePlan(p *build.Planned) *forecastJSON {
	told := &forecastJSON{
		Inputs: f.inputs, Read: p.Read, ByFate: map[string]fateCount{}, Classes: []fateJSON{}, Probes: describeApplied(p.Probes),
		Tags: describeApplied(p.Tags), Notes: p.Notes, Refused: refusal(p), wovenJSON: wovenJSON{p.Woven.Woven, p.Woven.Cached},
	}
	for i := range p.Classes {
		c := &p.Classes[i]
		name := fateName(c.When)
		sum := told.ByFate[name]
		told.ByFate[name] = fateCount{sum.Classes + 1, sum.Methods + c.Methods}
		told.Classes = append(told.Classes, fateJSON{
			Class: descriptor.ExternalName(c.Class), In: c.In, JDK: c.IsJDK(), Fate: name, Why: c.Why, Methods: c.Methods, Left: describePackLeft(c.Left, false),
		})
	}
	for _, u := range p.Unmatched {
		told.Unmatched = append(told.Unmatched, unmatchedJSON(u))
	}
	for _, broken := range p.Broken {
		told.Notes = append(told.Notes, broken.Reason)
	}
	return told
}

func describeApplied(applied []liveprobes.Applied) []foundJSON {
	all := []foundJSON{}
	for i := range applied {
		a := &applied[i]
		one := foundJSON{Name: a.Name, Methods: a.Methods, Anchors: a.Anchors}
		if one.Methods == nil {
			one.Methods = []string{}
		}
		for _, left := range a.LeftOut {
			one.LeftOut = append(one.LeftOut, leftOutJSON{Method: left.Method, Reason: oneLine(left.Err)})
		}
		all = append(all, one)
	}
	return all
}

// describePackLeft tells what was left alone, each with its class where that is wanted.
func describePackLeft(left []pack.Left, withClass bool) (all []leftOutJSON) {
	for _, l := range left {
		one := leftOutJSON{Method: l.Method, Reason: l.Reason}
		if withClass {
			one.Class = descriptor.ExternalName(l.Class)
		}
		all = append(all, one)
	}
	return all
}
