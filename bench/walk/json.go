package main

import (
	"encoding/json"
	"os"
	"runtime"

	"github.com/sonde-jvm/sonde/bench/machine"
)

// A record is a result as JSON has it. Times are seconds.
type record struct {
	JDK, Program string
	Alone        []float64 // speeds of single windows, against the mean of those alone
	Walked, All  []phase
	Bars         []bar
}

// A phase is a figure as JSON has it.
type phase struct {
	Speeds                              []float64 // of single windows
	Lost, LostInAll, Pause, Took        float64
	Hooks, MostLive, Batches, Redefined int
	Executed                            uint64
	Operations                          float64
	Classes, Lives                      []string `json:",omitempty"`
}

func phasesOf(figures []figure) []phase {
	var all []phase
	for _, f := range figures {
		c := f.course
		all = append(all, phase{
			Speeds: f.speeds, Lost: f.lost.Seconds(), LostInAll: f.all.Seconds(), Operations: f.done, Pause: c.pause.Seconds(), Took: c.span.Length().Seconds(), Hooks: c.hooks,
			MostLive: c.mostLive, Batches: c.batches, Redefined: c.redefined, Executed: c.executed, Classes: c.classes, Lives: c.lives,
		})
	}
	return all
}

func writeJSON(path string, results []*result, load string) error {
	all := struct {
		Processors            int
		LoadBefore, LoadAfter string
		Results               []record
	}{Processors: runtime.NumCPU(), LoadBefore: load, LoadAfter: machine.Load()}
	for _, r := range results {
		all.Results = append(all.Results, record{r.jdk, r.program, r.alone, phasesOf(r.walked), phasesOf(r.all), r.bars()})
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
