package html

import (
	"io"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/report/text"
)

var samplesPage = page{
	command: "hot", id: "samples",
	layouts: []string{"samples.html"},
	sheets:  []string{"base.css", "header.css", "toolbar.css", "flame.css", "print.css"},
	scripts: []string{
		"format.js", "tree.js", "colour.js", "search.js", "dom.js", "place.js", "theme.js", "samplestip.js", "flamedraw.js", "flame.js",
		"legend.js", "samplesmain.js",
	},
}

// Samples is a tree of sampled stacks.
type Samples struct {
	Target  cct.Target
	Began   time.Time
	Took    time.Duration
	About   []string // how the samples were taken, and what kinds of code ran
	Bias    string   // how the samples are biased; empty if they are not
	Methods []cct.Method
	Nodes   []SampleNode // callers before callees; the first one stands for no method
}

// A SampleNode is a method in a calling context.
type SampleNode struct {
	Parent int                `json:"parent"` // -1 for the first node
	Method int                `json:"method"` // -1 for the first node
	Self   float64            `json:"self"`   // nanoseconds, estimated
	Total  float64            `json:"total"`
	Kinds  map[string]float64 `json:"kinds,omitempty"` // parts of its samples, by kind of frame
}

// WriteHot writes a page with a flame graph of hot spots.
func WriteHot(w io.Writer, r *hotspots.Result) error {
	tree := r.Tree(r.Wall)
	code := strings.ReplaceAll(text.HotCode(r.Table), " %", "\u00a0%")
	s := &Samples{Target: r.Target, Began: r.From, Took: r.To.Sub(r.From), About: []string{text.HotSamples(r), code}, Bias: r.Bias, Methods: tree.Methods}
	var add func(n *cct.Node, parent int)
	add = func(n *cct.Node, parent int) {
		place := len(s.Nodes)
		s.Nodes = append(s.Nodes, SampleNode{Parent: parent, Method: n.Method, Self: n.Self.Nanos, Total: n.Total.Nanos, Kinds: tree.Kinds[n]})
		for _, c := range n.Children {
			add(c, place)
		}
	}
	add(tree.Top, -1)
	return WriteSamples(w, s)
}

// WriteSamples writes a page with a flame graph of samples.
func WriteSamples(w io.Writer, s *Samples) error {
	carried := struct {
		Methods []cct.Method `json:"methods"`
		Nodes   []SampleNode `json:"nodes"`
	}{s.Methods, s.Nodes}
	return samplesPage.write(w, s.Target, carried, s)
}
