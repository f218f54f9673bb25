package main

import (
	"slices"
	"strings"
	"testing"
)

func TestResults(t *testing.T) {
	const events = `{"Action":"run","Test":"TestOptions/jdk8/ZGC"}
{"Action":"output","Test":"TestOptions/jdk8/ZGC","Output":"    options_linux_test.go:74: NOT TESTED: the JDK does not know it\n"}
{"Action":"skip","Test":"TestOptions/jdk8/ZGC"}
{"Action":"run","Test":"TestOptions/jdk25/AOT_cache"}
{"Action":"run","Test":"TestOptions/jdk25/AOT_cache/count"}
{"Action":"output","Test":"TestOptions/jdk25/AOT_cache/count","Output":"    a_test.go:7: got 1, want 2\n"}
{"Action":"output","Test":"TestOptions/jdk25/AOT_cache/count","Output":"    a_test.go:8: and more\n"}
{"Action":"fail","Test":"TestOptions/jdk25/AOT_cache/count"}
{"Action":"fail","Test":"TestOptions/jdk25/AOT_cache"}
{"Action":"fail","Test":"TestOptions/jdk25"}
{"Action":"pass","Test":"TestCapabilities/jdk17/count"}
{"Action":"pass","Test":"TestCapabilities/jdk17"}
{"Action":"pass","Test":"TestCorpusIdentity/jdk26"}
{"Action":"pass","Test":"TestCorpusIdentity"}
{"Action":"pass"}
`
	var r results
	if err := r.read(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	want := []result{
		{"TestOptions/jdk8/ZGC", options, "ZGC", "8", "skip", "the JDK does not know it"},
		{"TestOptions/jdk25/AOT_cache", options, "AOT cache", "25", "fail", ""},
		{"TestOptions/jdk25/AOT_cache/count", options, "AOT cache", "25", "fail", "count: got 1, want 2"},
		{"TestCapabilities/jdk17/count", capabilities, "count", "17", "pass", ""},
		{"TestCorpusIdentity/jdk26", capabilities, "identity", "26", "pass", ""},
	}
	if !slices.Equal(r.all, want) {
		t.Errorf("got  %v\nwant %v", r.all, want)
	}
	if !worse(want[2], want[1]) || worse(want[1], want[2]) || worse(want[3], want[1]) {
		t.Error("a failure with a reason is not the worst")
	}
	const again = `{"Action":"run","Test":"TestOptions/jdk25/AOT_cache/count"}
{"Action":"pass","Test":"TestOptions/jdk25/AOT_cache/count"}
{"Action":"run","Test":"TestOptions/jdk25/AOT_cache"}
`
	if err := r.read(strings.NewReader(again)); err != nil || r.all[1].action != "run" || r.all[2].action != "pass" || len(r.all) != len(want) {
		t.Errorf("run again: %v, %v", r.all, err)
	}
	if err := r.read(strings.NewReader("no event\n")); err == nil {
		t.Error("a line that is no event was accepted")
	}
}
