package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// turns are two programs that work one after the other.
type turns struct {
	touched, twin *program
	options       options
}

// ratios are how much the touched program did of what its twin did, sorted.
type ratios []float64

// phase lets both settle and then compares them, pair by pair. Which of the two
// is first changes from pair to pair.
func (t turns) phase(ctx context.Context) (ratios, error) {
	for end := time.Now().Add(t.options.settle); time.Now().Before(end); {
		if _, err := t.pair(false); err != nil {
			return nil, err
		}
	}
	var all ratios
	for i := range t.options.pairs {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		ratio, err := t.pair(i%2 == 1)
		if err != nil {
			return nil, err
		}
		all = append(all, ratio)
	}
	slices.Sort(all)
	return all, nil
}

func (t turns) pair(twinFirst bool) (float64, error) {
	order := []*program{t.touched, t.twin}
	if twinFirst {
		slices.Reverse(order)
	}
	rates := make(map[*program]float64)
	for _, p := range order {
		rate, err := p.work(t.options.slice)
		if err != nil {
			return 0, err
		}
		rates[p] = rate
	}
	return rates[t.touched] / rates[t.twin], nil
}

// at is the ratio below which a part of all lie.
func (r ratios) at(part float64) float64 { return r[int(part*float64(len(r)-1)+0.5)] }

func printHead() {
	fmt.Printf("%-10s %-12s %8s  %-17s %s\n", "JDK", "phase", "of twin", "middle half", "of before")
}

// print gives the median, the middle half, and the median against that of the
// first phase, by which the two programs' own difference is taken out.
func (r ratios) print(jdk, phase string, before ratios) {
	fmt.Printf("%-10s %-12s %8.3f  %.3f to %.3f    %.3f\n", jdk, phase, r.at(0.5), r.at(0.25), r.at(0.75), r.at(0.5)/before.at(0.5))
}

func printLegend() {
	fmt.Println("\nof twin: operations of the touched program for each of its untouched twin, by processor time, in slices that alternate; median")
	fmt.Println("of before: the same, with what the two differed by before any hook taken out")
}
