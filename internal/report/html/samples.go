package html

import (
	"io"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
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
	Count   int
	Bias    string // how the samples are biased; empty if they are not
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

// WriteSamples writes a page with a flame graph of samples.
func WriteSamples(w io.Writer, s *Samples) error {
	carried := struct {
		Methods []cct.Method `json:"methods"`
		Nodes   []SampleNode `json:"nodes"`
	}{s.Methods, s.Nodes}
	return samplesPage.write(w, s.Target, carried, s)
}
