package cli

import (
	"slices"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/measure/suggest"
)

func TestObserveSaysWhereFewCallsAreTimed(t *testing.T) {
	method := func(name string) *suggest.Candidate {
		return &suggest.Candidate{MethodRef: classfile.MethodRef{Class: "shop/Cart", Name: name, Descriptor: "()V"}, Cost: 0.013, Thin: 0.004}
	}
	p := &suggest.Proposal{PID: 7, Choices: []suggest.Choice{{Candidate: method("all")}, {Candidate: method("few"), Thins: true}}}
	const want = "one call in 16 is timed, and all are counted: shop.Cart.few (all timed: 1.30 %)"
	if lines := proposalLines(p); !slices.Contains(lines, want) || len(lines) != 3 {
		t.Errorf("%q", lines)
	}
	if texts := observeTexts(p); texts[0][3] != "1.30 %" || texts[1][3] != "0.40 %" {
		t.Errorf("%q", texts)
	}
}
