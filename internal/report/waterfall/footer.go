package waterfall

import (
	"fmt"
	"strings"

	"github.com/sonde-jvm/sonde/internal/report/format"
)

// footer says what the signs mean that were used, and what is not shown.
func (d *drawing) footer() {
	l := d.line()
	l.add(dim, format.Cut(strings.Join(d.legend(), "   "), d.Width))
	d.write(l)
	for _, text := range d.gaps() {
		for _, one := range wrap(text, d.Width) {
			l := d.line()
			l.add(dim, one)
			d.write(l)
		}
	}
}

func (d *drawing) legend() []string {
	texts := []string{"█ own time", "░ in calls below"}
	var conditional, threw, isCut, handed bool
	for _, r := range d.rows {
		conditional = conditional || r.isConditional()
		threw = threw || r.threw() > 0
		isCut = isCut || r.isCut() > 0
		handed = handed || r.isPart || r.calls[0].Handed
	}
	for _, sign := range []struct {
		used bool
		text string
	}{
		{conditional, "◆ by condition"}, {threw, "! exception"}, {isCut, "… no end seen"}, {handed, "⇢ handed over"},
	} {
		if sign.used {
			texts = append(texts, sign.text)
		}
	}
	return texts
}

func (d *drawing) gaps() (texts []string) {
	if d.left > 0 {
		texts = append(texts, format.Count(d.left, "short call is", "short calls are")+" not shown: -o FILE.html has all")
	}
	if d.t.Lost > 0 {
		texts = append(texts, format.Count(d.t.Lost, "call was", "calls were")+" only counted: the ring had no room; their time is with their callers")
	}
	if d.t.Late > 0 {
		texts = append(texts, fmt.Sprintf("%s had not ended when the root's end had long been seen", format.Count(uint64(d.t.Late), "part", "parts")))
	}
	return texts
}
