package html

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/text"
)

var samplesPage = page{
	command: "hot",
	layouts: []string{"samples.html"},
	sheets:  []string{"base.css", "header.css", "toolbar.css", "flame.css", "tables.css", "print.css"},
	scripts: slices.Concat(flameScripts, []string{"samplestip.js", "main.js"}),
}

// A samplesView is what the layout of hot spots shows.
type samplesView struct {
	*hotspots.Result
	Began time.Time
	Took  time.Duration
	About []string // how the samples were taken, and what kinds of code ran
}

// WriteHot writes a page that shows hot spots as a flame graph, and contains them as JSON.
func WriteHot(w io.Writer, r *hotspots.Result) error {
	code := strings.ReplaceAll(text.HotCode(r.Table), " %", space+"%")
	view := samplesView{Result: r, Began: r.From, Took: r.To.Sub(r.From), About: []string{text.HotSamples(r), code}}
	return samplesPage.write(w, r.Target, document.NewHot(r, r.Methods).WithTree(r), view)
}
