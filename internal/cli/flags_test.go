package cli

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/spec/spectest"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

func TestTagsOfFlags(t *testing.T) {
	for _, test := range []struct {
		within, methods []string
		tag             string
		want            []probeset.Tag
	}{
		{nil, []string{"a.B.c", "!a.B.d"}, "t=$1", []probeset.Tag{{Name: "t", Value: spectest.Expr("$1"), At: spectest.Pattern("a.B.c")}}},
		{[]string{"x.Y.z >> a.B.b", "u.V.w"}, []string{"a.B.c"}, " t = $1.x ", []probeset.Tag{{Name: "t", Value: spectest.Expr("$1.x"), At: spectest.Pattern("x.Y.z")}, {Name: "t", Value: spectest.Expr("$1.x"), At: spectest.Pattern("u.V.w")}}},
		{[]string{"x.Y.z >> a.B.b", "x.Y.z >"}, []string{"a.B.c"}, "t=$1", []probeset.Tag{{Name: "t", Value: spectest.Expr("$1"), At: spectest.Pattern("x.Y.z")}}},
		{nil, []string{"a.B.c"}, "t=$1 at x.Y.z", []probeset.Tag{{Name: "t", Value: spectest.Expr("$1"), At: spectest.Pattern("x.Y.z")}}},
		{nil, []string{"a.B.c"}, `t=$1["look at this"] at x.Y.z(int, long)`, []probeset.Tag{{Name: "t", Value: spectest.Expr(`$1["look at this"]`), At: spectest.Pattern("x.Y.z(int, long)")}}},
	} {
		f := contextFlags{within: test.within, tags: []string{test.tag}, handOff: true}
		set, err := f.set(spectest.Patterns(test.methods...))
		if err != nil {
			t.Errorf("%s: %v", test.tag, err)
			continue
		}
		if !reflect.DeepEqual(set.Tags, test.want) || !set.HandOff || set.Probes[0].Level != probeset.Time {
			t.Errorf("%s: %+v", test.tag, set)
		}
	}
	f := contextFlags{when: "$1 > 3", handOff: true}
	if set, err := f.set(spectest.Patterns("a.B.c")); err != nil || set.HandOff || !f.isUsed() {
		t.Errorf("%v, %+v", err, set)
	}
	if (&contextFlags{handOff: true}).isUsed() {
		t.Error("no flag was given")
	}
}

func TestCaretOfConditions(t *testing.T) {
	_, err := expr.Parse("$1 = 3")
	err = fmt.Errorf("probe p: %w", err)
	if got := caret(&usageError{err}); got != "  $1 = 3\n     ^\n" {
		t.Errorf("%q", got)
	}
	if got := caret(errors.New("no")); got != "" {
		t.Errorf("%q", got)
	}
}

// rowsInContexts are of one method, by sequences, tags and callers.
func rowsInContexts() []liveprobes.Row {
	name := probes.SpotName{Class: "a/B", Name: "c", Descriptor: "()V", Sequence: "x.Y.z >"}
	return []liveprobes.Row{
		{SpotName: name, ID: 1, Label: liveprobes.Label{Tags: []liveprobes.TagValue{{Name: "tier", Value: "gold", Set: true}, {Name: "kind", Set: true, Null: true}}}, Totals: arena.Totals{Calls: 3}},
		{SpotName: name, ID: 2, Label: liveprobes.Label{Tags: []liveprobes.TagValue{{Name: "tier"}, {Name: "kind", Value: "b", Set: true}}}, Totals: arena.Totals{Calls: 2}},
		{SpotName: name, ID: 3, Label: liveprobes.Label{Callers: []string{"a/C.d()V", "a/E.f(I)V"}}, Totals: arena.Totals{Calls: 1}},
		{SpotName: name, ID: 4, Label: liveprobes.Label{Other: true}},
	}
}

func TestContextTexts(t *testing.T) {
	rows := rowsInContexts()
	texts := contextRows(rows, true)
	for i, want := range []string{
		"within x.Y.z >; tier=gold kind=(null)", "within x.Y.z >; tier=(none) kind=b", "within x.Y.z >; < a.C.d < a.E.f", "within x.Y.z >; (other)",
	} {
		if got := texts[i].Context; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := contextRows(rows[2:3], false)[0].Context; got != "< a.C.d < a.E.f" {
		t.Error(got)
	}
	rows[2].Off = true
	if got := contextRows(rows[2:3], false)[0].Context; got != "< a.C.d < a.E.f; switched off" {
		t.Error(got)
	}
	json := document.NewLabel(rows[0].Sequence, rows[0].Label)
	if value, is := json.Tags["kind"]; json.Within != "x.Y.z >" || *json.Tags["tier"] != "gold" || !is || value != nil {
		t.Errorf("%+v", json)
	}
	if _, is := document.NewLabel(rows[1].Sequence, rows[1].Label).Tags["tier"]; is {
		t.Error("a tag that was not set has a value")
	}
}

func TestMonitorContexts(t *testing.T) {
	b := monitorSampleTable(t, contextRows(rowsInContexts(), true))
	for by, want := range map[string][]string{
		byPattern: {"a.Order.pay", "a.** [within x.Y.z >; (other)]", "a.** [within x.Y.z >; < a.C.d < a.E.f]", "a.** [within x.Y.z >; tier=(none) kind=b]", "a.** [within x.Y.z >; tier=gold kind=(null)]", "b.**"},
		byMethod:  {"a.B.c [within x.Y.z >; (other)]", "a.B.c [within x.Y.z >; < a.C.d < a.E.f]", "a.B.c [within x.Y.z >; tier=(none) kind=b]", "a.B.c [within x.Y.z >; tier=gold kind=(null)]"},
	} {
		groups, names := b.groups(by)
		var got []string
		for _, key := range groups.Keys {
			got = append(got, names[key])
		}
		if !slices.Equal(got, want) {
			t.Errorf("by %s: %q", by, got)
		}
	}
}
