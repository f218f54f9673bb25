package main

import (
	"regexp"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A mode is what a method is run as: a twin, and for the hooked one what its
// hooks do.
type mode struct {
	name   string
	twin   twin
	flags  arena.Flags
	period uint32
	shapes []string // nil for all
}

// production is the period that users get where they do not choose one.
const production = 1000

const (
	modeBare    = "bare"
	modeClocks  = "two nanoTime"
	modeOff     = "hook, off"
	modeOutside = "hook, outside its context"
	modeCount   = "count, flat"
	modeFlat    = "exact, flat"
	modeTree    = "exact, tree"
	modeSampled = "sampled, k=1000"
	modeOften   = "sampled, k=64"
)

// nested are the shapes in which a tree is deeper than a list.
var nested = []string{"Leaf", "Chain", "Recursion"}

// modes are run in this order in each round; the first two are what the others
// are compared with.
var modes = []mode{
	{name: modeBare, twin: bare},
	{name: modeClocks, twin: clocked},
	{name: modeOff, twin: hooked},
	{name: modeOutside, twin: hooked, flags: arena.On | arena.Inside | arena.Timed},
	{name: modeCount, twin: hooked, flags: arena.On | arena.Flat},
	{name: modeFlat, twin: hooked, flags: arena.On | arena.Timed | arena.Flat},
	{name: modeTree, twin: hooked, flags: arena.On | arena.Timed, shapes: nested},
	{name: modeSampled, twin: hooked, flags: arena.On | arena.Sampled | arena.Flat, period: production},
	{name: modeOften, twin: hooked, flags: arena.On | arena.Sampled | arena.Flat, period: 64},
}

// chosen are the modes whose names match, with those they are compared with.
func chosen(names *regexp.Regexp) []mode {
	var some []mode
	for _, m := range modes {
		if m.twin != hooked || names.MatchString(m.name) {
			some = append(some, m)
		}
	}
	return some
}

func (m mode) allShapes() []string {
	if m.shapes != nil {
		return m.shapes
	}
	return shapes
}
