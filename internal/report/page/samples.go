package page

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// The parts of a page of samples, which draws its flame graph as that of a profile.
var (
	sampleSheets  = []string{"base.css", "header.css", "toolbar.css", "flame.css", "print.css"}
	sampleScripts = []string{
		"format.js", "tree.js", "colour.js", "search.js", "dom.js", "place.js", "theme.js", "samples/tip.js", "flamedraw.js", "flame.js", "legend.js", "samples/main.js",
	}
)

// Samples are stacks that were sampled, as a tree.
type Samples struct {
	Target  cct.Target
	Began   time.Time
	Took    time.Duration
	Count   int
	Bias    string // in what they are not to be trusted
	Methods []cct.Method
	Nodes   []SampleNode // callers before callees; the first stands for no method
}

// A SampleNode is a method in one way of being called.
type SampleNode struct {
	Parent int                `json:"parent"` // -1 of the first
	Method int                `json:"method"` // -1 of the first
	Self   float64            `json:"self"`   // nanoseconds, estimated
	Total  float64            `json:"total"`
	Kinds  map[string]float64 `json:"kinds,omitempty"` // parts of its samples, by kind of frame
}

// WriteSamples writes the page of a flame graph.
func WriteSamples(w io.Writer, s *Samples) error {
	encoded, err := s.encode()
	if err != nil {
		return err
	}
	held, err := newFrame(sampleSheets, sampleScripts, encoded)
	if err != nil {
		return err
	}
	return execute(w, []string{"samples/page.html"}, struct {
		frame
		Title, JDK, Began, BeganISO, Took, Count, Bias string
		PID                                            int
	}{
		frame: held, Title: titleOf(s.Target), JDK: s.Target.JDK, PID: s.Target.PID, Bias: s.Bias,
		Began: s.Began.Format("2 January 2006, 15:04:05 MST"), BeganISO: s.Began.Format("2006-01-02T15:04:05Z07:00"),
		Took: duration(s.Took), Count: format.Plural(s.Count, "sample"),
	})
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
