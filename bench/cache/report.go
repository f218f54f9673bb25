package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/sonde-jvm/sonde/bench/spread"
)

// A report holds all results.
type report struct {
	Jar             string
	Classes, Rounds int
	Load            string
	Hooks           []hooked
}

// hooked is the result with hooks in some methods of each class.
type hooked struct {
	In     string        // which methods
	Sizes  []sized       // a fifth of the classes each
	Share  spread.Spread // time of a hit relative to weaving, for all classes, by round
	Slower int           // number of classes for which a hit takes longer than weaving, by medians
	Worst  []compared    // the classes for which a hit saves least
	Once   spread.Spread // microseconds to open and close the cache
}

// sized is a group of classes of similar size: medians of the classes' medians, in
// microseconds.
type sized struct {
	Bytes        int // of the average class file
	Woven, Found float64
}

// compared is one class.
type compared struct {
	Class        string
	Bytes        int
	Woven, Found spread.Spread // microseconds
}

// judge summarizes the times of all classes.
func judge(classes []class, s scope, all []times) hooked {
	h := hooked{In: s.String()}
	medians := make([][ways]float64, len(all))
	order := make([]int, len(all))
	for i := range all {
		order[i] = i
		for way := range ways {
			medians[i][way] = spread.Median(all[i][way]) / 1000
		}
		if medians[i][found] > medians[i][woven] {
			h.Slower++
		}
	}
	const parts = 5
	for part := range parts {
		from, to := part*len(all)/parts, (part+1)*len(all)/parts
		if from < to {
			h.Sizes = append(h.Sizes, sizeUp(classes[from:to], medians[from:to]))
		}
	}
	h.Share = shares(all)
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Compare(medians[b][found]-medians[b][woven], medians[a][found]-medians[a][woven])
	})
	for _, i := range order[:min(3, len(order))] {
		h.Worst = append(h.Worst, compared{classes[i].name, len(classes[i].file), micros(all[i][woven]), micros(all[i][found])})
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
	s.Woven, s.Found = spread.Median(by[woven]), spread.Median(by[found])
	return s
}

// shares compares the sums over all classes, round by round.
func shares(all []times) spread.Spread {
	var shares []float64
	for round := range all[0][found] {
		var hit, weaving float64
		for i := range all {
			hit += all[i][found][round]
			weaving += all[i][woven][round]
		}
		shares = append(shares, hit/weaving)
	}
	return spread.Of(shares)
}

func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "%s: %d classes, %d rounds, load %s; µs of a session for a class, medians\n", r.Jar, r.Classes, r.Rounds, r.Load)
	for _, h := range r.Hooks {
		fmt.Fprintf(w, "\n%-26s", "hooks in "+h.In)
		for _, s := range h.Sizes {
			fmt.Fprintf(w, "%9.1f KB", float64(s.Bytes)/1000)
		}
		fmt.Fprintf(w, "\n%-26s", "woven")
		for _, s := range h.Sizes {
			fmt.Fprintf(w, "%12.1f", s.Woven)
		}
		fmt.Fprintf(w, "\n%-26s", "found in the cache")
		for _, s := range h.Sizes {
			fmt.Fprintf(w, "%12.1f", s.Found)
		}
		fmt.Fprintf(w, "\na hit takes %.2f of the time of weaving (%.2f to %.2f); it takes longer for %d of %d classes (%.1f %%)\n",
			h.Share.Median, h.Share.Low, h.Share.High, h.Slower, r.Classes, 100*float64(h.Slower)/float64(r.Classes))
		fmt.Fprintln(w, "the classes for which a hit saves least:")
		for _, d := range h.Worst {
			fmt.Fprintf(w, "  %s, %d bytes: woven %.1f (%.1f to %.1f), found %.1f (%.1f to %.1f)\n", d.Class, d.Bytes,
				d.Woven.Median, d.Woven.Low, d.Woven.High, d.Found.Median, d.Found.Low, d.Found.High)
		}
		fmt.Fprintf(w, "once a session, to open and close the cache: %.0f (%.0f to %.0f)\n", h.Once.Median, h.Once.Low, h.Once.High)
	}
}
