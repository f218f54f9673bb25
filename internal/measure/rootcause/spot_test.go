package rootcause

import (
	"slices"
	"testing"

	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
)

func tallyFor(weights map[string]float64) *tally {
	t := &tally{table: &hotspots.Table{}}
	for stack, weight := range weights {
		t.paths = append(t.paths, path{methods: straighten(stackOf(stack)), weight: weight, samples: int(weight)})
		t.whole += weight
		t.count += int(weight)
	}
	return t
}

func names(methods []method) (all []string) {
	for _, m := range methods {
		all = append(all, m.name)
	}
	return all
}

func TestHotSpotsAreThoseAboveTheShare(t *testing.T) {
	counts := tallyFor(map[string]float64{"a/A.x a/A.main": 60, "a/A.y a/A.main": 30, "a/A.y a/A.other": 6, "a/A.z a/A.main": 4})
	if hot := names(counts.hottest(0.05, 3)); !slices.Equal(hot, []string{"x", "y"}) {
		t.Errorf("hot are %v", hot)
	}
	if hot := names(counts.hottest(0.9, 1)); !slices.Equal(hot, []string{"x"}) {
		t.Errorf("where none is hot enough: %v", hot)
	}
	if hot := names(counts.hottest(0.01, 1)); len(hot) != 3 {
		t.Errorf("where all are: %v", hot)
	}
	share := counts.share(method{"a/A", "y", "()V"})
	if share.Part != 0.36 || share.Low > 0.28 || share.Low < 0.25 || share.High < 0.44 || share.High > 0.48 {
		t.Errorf("the share of y is %+v", share)
	}
}

func TestShareSpeaksOfAllLooks(t *testing.T) {
	s := &spot{floor: 0.025}
	for _, look := range []struct{ weight, samples float64 }{{30, 100}, {0, 100}, {150, 300}} {
		if s.cools(shareOf(look.weight, look.samples, look.samples), int(look.samples)) {
			t.Errorf("it is said to be cold after %+v", look)
		}
	}
	if s.share.Part != 0.36 || s.seen != 500 {
		t.Errorf("%+v of %d", s.share, s.seen)
	}
}

func TestASpotCoolsOnceLooksSaySoTogether(t *testing.T) {
	s := &spot{floor: 0.025}
	s.cools(shareOf(90, 100, 100), 100)
	none := shareOf(0, 100, 100)
	if s.cools(none, 100) {
		t.Error("a hundred samples do not tell it from one of 3 %")
	}
	if s.share.Part != 0.9 {
		t.Errorf("looks in which it may be cold count: %+v", s.share)
	}
	if !s.cools(none, 100) {
		t.Error("two hundred do")
	}
}
