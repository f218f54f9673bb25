package suggest

import (
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// TestFileIsTheSet: the file with its comments says what the set does.
func TestFileIsTheSet(t *testing.T) {
	p := &Proposal{PID: 7, Main: "shop.Main", JDK: "17", Budget: 0.02, Cost: 0.001, Coverage: 0.97, Samples: 1000, Nanos: 90}
	for _, method := range []classfile.MethodRef{
		ref("shop/order/Checkout", "place", "(Lshop/Cart;I)V"), ref("shop/other/Checkout", "place", "()V"), ref("shop/Order$Item", "<init>", "(J)V"), ref("a", "lambda$x$0", "()V"),
	} {
		c := &Candidate{MethodRef: method, Pattern: pattern.Of(method, false), PerSecond: 10, Measured: true, Share: 0.5}
		c.Uses = []Use{{Database, "java.sql.\u2028# x: y"}}
		p.Choices = append(p.Choices, Choice{Candidate: c, Why: ToCover, Adds: 0.5, Thins: method.Name == "<init>"})
	}
	text := p.YAML()
	set, err := probeset.Parse(text, "probes.yaml")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if changes := probeset.Diff(p.Set(), set); len(changes) > 0 {
		t.Errorf("%v\n%s", changes, text)
	}
	var names []string
	for _, probe := range set.Probes {
		names = append(names, probe.Name)
	}
	if got := strings.Join(names, " "); got != "Checkout.place Checkout.place-2 Order.Item.new a.lambda.x.0" {
		t.Errorf("%s", got)
	}
	if set.Probes[1].Sample != 0 || set.Probes[2].Sample != overhead.ThinPeriod {
		t.Errorf("timed are one in %d and in %d", set.Probes[1].Sample, set.Probes[2].Sample)
	}
	if set.HandOff || set.Probes[0].Methods[0].String() != "shop.order.Checkout.place(shop.Cart,int):void" || set.Probes[0].Level != probeset.Time {
		t.Errorf("%+v", set)
	}
	if comments := strings.Count(string(text), "  # covers: a caller in 50 % of the samples; database: calls java.sql.�# x: y; 10 calls/s; "); comments != 4 {
		t.Errorf("%d reasons in\n%s", comments, text)
	}
}

func TestPatternsNameOneMethod(t *testing.T) {
	for _, test := range []struct {
		method classfile.MethodRef
		alone  bool
		want   string
	}{
		{ref("a/B", "c", "([ILjava/lang/String;)[J"), false, "a.B.c(int[],java.lang.String):long[]"},
		{ref("a/B", "c", "([ILjava/lang/String;)[J"), true, "a.B.c"},
		{ref("a/B$C", "<init>", "()V"), true, "a.B$C.<init>"},
		{ref("a/B", "c", ""), false, "a.B.c"},
		{ref("a/B", "c*d", "()V"), true, ""},
		{ref("a/B", "c d", "()V"), true, ""},
	} {
		if got := pattern.Of(test.method, test.alone); got != test.want {
			t.Errorf("%v: %q, want %q", test.method, got, test.want)
		}
	}
}
