package cli

import (
	"fmt"
	"path/filepath"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/report"
)

// writeFlame writes the flame graph of a table.
func (r *hotRun) writeFlame(t *hotspots.Table) error {
	jvm := r.sampler.JVM()
	samples := &report.Samples{
		Target: cct.Target{PID: r.pid, Command: jvm.Main, JDK: jvm.Version},
		Began:  t.From, Took: t.To.Sub(t.From), Count: t.Samples, Bias: r.sampler.Bias(),
	}
	addTree(samples, t.Tree(), float64(t.Unit))
	if err := report.WriteSamplesFile(r.flame, samples); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(r.err, "wrote %s\n", filepath.Clean(r.flame))
	return nil
}

// addTree writes a tree down, callers before callees. A weight of one stands for
// so many nanoseconds.
func addTree(to *report.Samples, top *hotspots.Node, unit float64) {
	numbers := map[*jfr.Method]int{}
	var add func(n *hotspots.Node, parent int)
	add = func(n *hotspots.Node, parent int) {
		node := report.SampleNode{Parent: parent, Method: -1, Self: n.Self * unit, Total: n.Total * unit}
		if m := n.Method; m != nil {
			number, known := numbers[m]
			if !known {
				number = len(to.Methods)
				numbers[m] = number
				to.Methods = append(to.Methods, cct.Method{Class: className(m.Class), Name: m.Name, Descriptor: m.Descriptor})
			}
			node.Method, node.Kinds = number, map[string]float64{}
			for kind, weight := range n.Kinds {
				node.Kinds[kind] = weight / n.Total
			}
		}
		place := len(to.Nodes)
		to.Nodes = append(to.Nodes, node)
		for _, c := range n.Children {
			add(c, place)
		}
	}
	add(top, -1)
}
