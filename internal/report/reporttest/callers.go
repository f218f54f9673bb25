package reporttest

import (
	"github.com/sonde-jvm/sonde/internal/classes/own"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
)

// The methods of the search that Climb returns, by their numbers.
const (
	Leaf = iota
	JDK
	Left
	Right
	Main
)

// Climb returns a search with one hot spot, the method Leaf, that has these callers.
func Climb(callers ...*rootcause.Caller) *rootcause.Climb {
	return &rootcause.Climb{
		Own: own.Packages{Names: []string{"app"}, From: "the main class"},
		Methods: []cct.Method{
			Leaf: {Class: "app/Leaf", Name: "hot"}, JDK: {Class: "java/util/List", Name: "forEach"},
			Left: {Class: "app/Left", Name: "go"}, Right: {Class: "app/Right", Name: "go"}, Main: {Class: "app/Main", Name: "main"},
		},
		Spots: []rootcause.Spot{{Method: Leaf, Callers: callers}},
	}
}

// Caller returns a caller with its part of the calls, and its own callers.
func Caller(method int, part float64, above ...*rootcause.Caller) *rootcause.Caller {
	return &rootcause.Caller{Method: method, Share: rootcause.Share{Part: part}, Above: above}
}
