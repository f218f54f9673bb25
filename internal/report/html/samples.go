package html

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

var samplesPage = page{
	layouts: []string{"samples.html", "parts.html"},
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
	encoded, err := s.encode()
	if err != nil {
		return err
	}
	held, err := samplesPage.frame(encoded)
	if err != nil {
		return err
	}
	return samplesPage.execute(w, struct {
		header
		frame
		Count, Bias string
	}{newHeader(s.Target.PID, s.Target.Command, s.Target.JDK, s.Began, s.Took), held, format.Plural(s.Count, "sample"), s.Bias})
}

func (s *Samples) encode() ([]byte, error) {
	type method struct {
		Class      string `json:"class"`
		Name       string `json:"name"`
		Descriptor string `json:"descriptor,omitempty"`
	}
	methods := make([]method, 0, len(s.Methods))
	for _, m := range s.Methods {
		methods = append(methods, method{m.Class, m.Name, m.Descriptor})
	}
	encoded, err := json.Marshal(struct {
		Methods []method     `json:"methods"`
		Nodes   []SampleNode `json:"nodes"`
	}{methods, s.Nodes})
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	return encoded, nil
}
