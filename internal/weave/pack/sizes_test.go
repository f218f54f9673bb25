package pack

import (
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// TestPacksAreSmall packs classes of a real program, each with a hook in every method.
func TestPacksAreSmall(t *testing.T) {
	var c Content
	for _, one := range weaveJar(t, h2, 8) {
		c.Classes = append(c.Classes, one.entry())
		for _, m := range one.result.Methods {
			if m.Woven {
				c.Names = append(c.Names, Name{ID: uint32(len(c.Names)), Class: one.name, Method: strings.Clone(m.Name), Descriptor: strings.Clone(m.Descriptor)})
			}
		}
	}
	c.Watches = control.Watches{Table: make([]uint64, 4*2*len(c.Names))}
	p := opened(t, written(t, &c))
	wantClasses(t, p, c.Classes)
	s := p.Sizes()
	share := func(n int64) float64 { return float64(n) / float64(s.Woven) * 100 }
	t.Logf("%d methods of %d classes, %d bytes, woven %d; the pack has %d (%.0f%%): lookup %d, watches %d, dictionary %d, image %d, deltas %d (%.0f%%, %d of a method), cold %d",
		s.Methods, s.Classes, s.Original, s.Woven, s.File, share(s.File), s.Lookup, s.Watches, s.Dictionary, s.Image, s.Deltas, share(s.Deltas), s.Deltas/int64(s.Methods), s.Cold)
	if share(s.Deltas) > 50 {
		t.Errorf("deltas take %.0f%% of the woven classes", share(s.Deltas))
	}
}

// BenchmarkDiff is what making deltas costs, by class.
func BenchmarkDiff(b *testing.B) {
	classes := weaveJar(b, h2, 8)
	var d differ
	i, size := 0, 0
	for b.Loop() {
		c := &classes[i%len(classes)]
		d.diff(c.original, c.woven)
		size += len(c.woven)
		i++
	}
	b.SetBytes(int64(size / i))
}
