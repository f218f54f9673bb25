package weave_test

import (
	"fmt"
	"testing"

	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// farBranches is a class with n branches that come out of reach when the thousand
// returns they leap over become jumps.
func farBranches(n int) []byte {
	const returns = 1000
	b := classtest.NewBuilder(52, "Far")
	a := asm()
	var frames []at
	for range n {
		a.Op("iload_0").Jump("ifgt", "far")
	}
	for i := range returns {
		next := fmt.Sprint("return", i)
		a.Op("iload_0").Jump("ifle", next).Ops("iconst_0", "ireturn").Label(next)
		frames = append(frames, at{next, types(intType), nil})
	}
	a.Fill(32750-4*n-6*returns, "nop").Label("far").Ops("iload_0", "ireturn")
	run(b, a, 1, 1, append(frames, at{"far", types(intType), nil})...)
	return b.Bytes()
}

// TestFarBranches: each branch that is widened gets a frame behind it.
func TestFarBranches(t *testing.T) {
	const n = 20
	template := handmadeTemplates(t)["rich"]
	data := farBranches(n)
	result, err := weave.NewWeaver().Weave(data, func(weave.MethodInfo) []*weave.Template { return []*weave.Template{template} })
	if err != nil || !result.Methods[0].Woven {
		t.Fatalf("%v, %v", err, result)
	}
	checkMap(t, data, result)
	if _, err := classtest.Describe(result.Bytes); err != nil {
		t.Error(err)
	}
}

// BenchmarkFarBranches shows whether the time grows with the number of far branches,
// and not with its square.
func BenchmarkFarBranches(b *testing.B) {
	template := handmadeTemplates(b)["rich"]
	for _, n := range []int{100, 200, 400} {
		data := farBranches(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			weaver := weave.NewWeaver()
			for b.Loop() {
				if _, err := weaver.Weave(data, func(weave.MethodInfo) []*weave.Template { return []*weave.Template{template} }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
