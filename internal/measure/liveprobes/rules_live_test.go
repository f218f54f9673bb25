package liveprobes_test

import (
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// TestRulesInAJVM: classes have hooks when their rule says so, and lose and get them when
// rules change.
func TestRulesInAJVM(t *testing.T) {
	s := openShop(t, jvmtest.Need(t, 17))
	set := &probeset.Set{
		Probes: []probeset.Probe{{Name: "pay", Methods: []string{"shop.*.charge"}, Level: probeset.Count}},
		Weave:  []probeset.Rule{{Classes: []string{"shop.Pay"}, When: probeset.Never}, {Classes: []string{"shop.Mock"}, When: probeset.Dynamic}},
	}
	if report := s.apply(set); report.Woven != 0 || len(report.Probes[0].LeftOut) != 1 {
		t.Errorf("%+v", report)
	}
	s.do("web 10", "done web 10")
	s.do("mock 5", "done mock 5")
	s.expect("pay", "shop/Pay.charge", 0, 0)
	s.expect("pay", "shop/Mock.charge", 0, 0)
	if report := s.apply(set); report.Woven != 1 { // it has loaded, and this is the next
		t.Errorf("%+v", report)
	}
	s.do("mock 5", "done mock 5")
	s.expect("pay", "shop/Mock.charge", 5, 0)
	set.Weave = []probeset.Rule{{Classes: []string{"shop.Mock"}, When: probeset.Never}}
	if report := s.apply(set); report.Woven != 1 || report.Removed != 1 {
		t.Errorf("%+v", report)
	}
	s.do("web 10", "done web 10")
	s.do("mock 5", "done mock 5")
	s.expect("pay", "shop/Pay.charge", 20, 0)
	s.expect("pay", "shop/Mock.charge", 5, 0)
}
