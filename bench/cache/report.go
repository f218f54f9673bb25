package main

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/sonde-jvm/sonde/bench/spread"
)

// A report is all that was found.
type report struct {
	Jar             string
	Classes, Rounds int
	Load            string
	Hooks           []hooked
}

// hooked is what was found with hooks in some methods of each class.
type hooked struct {
	In    string        // which methods
	Sizes []sized       // a fifth of the classes each
	Whole []whole       // segment, file
	Worst []dearer      // in the segment; those first that are dearer by most, or cheaper by least
	Once  spread.Spread // to open the cache and to close it, in microseconds
}

// sized are classes of about one size: medians of the classes' medians, in microseconds.
type sized struct {
	Bytes                  int // the average class file
	Woven, InSegment, File float64
}

// whole is all classes together, found in one way.
type whole struct {
	Way    string
	Share  spread.Spread // of what weaving takes, round by round
	Dearer int           // classes for which the median of a hit is above that of weaving
	Surely int           // and of those, in so many of the rounds that it is not by chance
	Worst  float64       // by how much at most, in microseconds; negative where it is never
}

// dearer is a class for which a hit costs more than weaving, or nearly as much.
type dearer struct {
	Class      string
	Bytes      int
	Woven, Hit spread.Spread // microseconds
}

func (r *report) allMet() bool {
	return !slices.ContainsFunc(r.Hooks, func(h hooked) bool { return h.Whole[0].Surely > 0 })
}

// judge sums up.
func judge(classes []class, s scope, all []times) hooked {
	h := hooked{In: s.String()}
	medians := make([][ways]float64, len(all))
	for i := range all {
		for way := range ways {
			medians[i][way] = spread.Median(all[i][way]) / 1000
		}
	}
	const parts = 5
	for part := range parts {
		from, to := part*len(all)/parts, (part+1)*len(all)/parts
		if from < to {
			h.Sizes = append(h.Sizes, sizeUp(classes[from:to], medians[from:to]))
		}
	}
	for way, name := range []string{inSegment: "in the segment", inFile: "without a segment at first"} {
		if name != "" {
			h.Whole = append(h.Whole, sumUp(name, way, all, medians))
		}
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := medians[a][inSegment]-medians[a][woven], medians[b][inSegment]-medians[b][woven]
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	for _, i := range order[:min(3, len(order))] {
		h.Worst = append(h.Worst, dearer{classes[i].name, len(classes[i].file), micros(all[i][woven]), micros(all[i][inSegment])})
	}
	return h
}

func micros(nanos []float64) spread.Spread {
	s := spread.Of(nanos)
	return spread.Spread{Median: s.Median / 1000, Low: s.Low / 1000, High: s.High / 1000}
}

func sizeUp(classes []class, medians [][ways]float64) (s sized) {
	var by [ways][]float64
	for i := range classes {
		s.Bytes += len(classes[i].file)
		for way := range ways {
			by[way] = append(by[way], medians[i][way])
		}
	}
	s.Bytes /= len(classes)
	s.Woven, s.InSegment, s.File = spread.Median(by[woven]), spread.Median(by[inSegment]), spread.Median(by[inFile])
	return s
}

func sumUp(name string, way int, all []times, medians [][ways]float64) whole {
	w := whole{Way: name}
	var shares []float64
	for round := range all[0][way] {
		var hit, weaving float64
		for i := range all {
			hit += all[i][way][round]
			weaving += all[i][woven][round]
		}
		shares = append(shares, hit/weaving)
	}
	w.Share = spread.Of(shares)
	for i, m := range medians {
		by := m[way] - m[woven]
		if by > 0 {
			w.Dearer++
			if isSurely(all[i][way], all[i][woven]) {
				w.Surely++
			}
		}
		if i == 0 || by > w.Worst {
			w.Worst = by
		}
	}
	return w
}

// isSurely reports whether a hit was dearer than weaving in more of the rounds than chance
// would have it once in a thousand classes for which both cost the same.
func isSurely(hits, weavings []float64) bool {
	dearer := 0
	for round := range hits {
		if hits[round] > weavings[round] {
			dearer++
		}
	}
	const deviations = 3.1
	n := float64(len(hits))
	return float64(dearer) > n/2+deviations*math.Sqrt(n)/2
}

func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "%s: %d classes, %d rounds, load %s; µs of a session for a class, medians\n", r.Jar, r.Classes, r.Rounds, r.Load)
	for _, h := range r.Hooks {
		fmt.Fprintf(w, "\n%-26s", "hooks in "+h.In)
		for _, s := range h.Sizes {
			fmt.Fprintf(w, "%9.1f KB", float64(s.Bytes)/1000)
		}
		for _, row := range []struct {
			name string
			of   func(sized) float64
		}{
			{"woven", func(s sized) float64 { return s.Woven }},
			{"found in the segment", func(s sized) float64 { return s.InSegment }},
			{"found, no segment at first", func(s sized) float64 { return s.File }},
		} {
			fmt.Fprintf(w, "\n%-26s", row.name)
			for _, s := range h.Sizes {
				fmt.Fprintf(w, "%12.1f", row.of(s))
			}
		}
		fmt.Fprintln(w)
		for _, all := range h.Whole {
			fmt.Fprintf(w, "%s: %.2f of weaving (%.2f to %.2f); dearer for %d of %d classes (%.1f %%; surely for %d), %s\n", all.Way,
				all.Share.Median, all.Share.Low, all.Share.High, all.Dearer, r.Classes, 100*float64(all.Dearer)/float64(r.Classes), all.Surely, all.worst())
		}
		fmt.Fprintln(w, "in the segment, the classes for which a hit saves least:")
		for _, d := range h.Worst {
			fmt.Fprintf(w, "  %s, %d bytes: woven %.1f (%.1f to %.1f), found %.1f (%.1f to %.1f)\n", d.Class, d.Bytes,
				d.Woven.Median, d.Woven.Low, d.Woven.High, d.Hit.Median, d.Hit.Low, d.Hit.High)
		}
		fmt.Fprintf(w, "once a session, to open and to close the cache: %.0f (%.0f to %.0f)\n", h.Once.Median, h.Once.Low, h.Once.High)
	}
	verdict := "met"
	if !r.allMet() {
		verdict = "NOT MET"
	}
	byMedian, surely := 0, 0
	for _, h := range r.Hooks {
		byMedian, surely = byMedian+h.Whole[0].Dearer, surely+h.Whole[0].Surely
	}
	fmt.Fprintf(w, "\na hit in the segment is dearer than weaving beyond chance for %d of %d (by medians alone for %d): %s\n",
		surely, len(r.Hooks)*r.Classes, byMedian, verdict)
}

func (w whole) worst() string {
	if w.Worst <= 0 {
		return fmt.Sprintf("cheaper by %.1f µs at least", -w.Worst)
	}
	return fmt.Sprintf("by %.1f µs at worst", w.Worst)
}
