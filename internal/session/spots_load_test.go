package session

import (
	"sync/atomic"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// spotsIn are an anchor and a spot in each method of a class.
func spotsIn(class string, file []byte) (spots []Spot) {
	c, err := classfile.Parse(file)
	if err != nil {
		return nil
	}
	for i := range c.Methods {
		name, descriptor, err := c.MemberName(&c.Methods[i])
		if err != nil {
			return nil
		}
		p := Spot{Class: class, Name: string(name), Descriptor: string(descriptor), Key: "watch", Below: 1, Flags: arena.On}
		spots = append(spots, p)
		p.Kind, p.Key, p.First, p.Below = Anchors, "anchor", 1, 0
		spots = append(spots, p)
	}
	return spots
}

// TestSpotsComeAndGoUnderLoad puts spots in and takes them out while threads run what
// is watched, and load classes that are to be: the program's results stay the same,
// and nothing is left.
func TestSpotsComeAndGoUnderLoad(t *testing.T) {
	const cycles = 3
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := live.Start(t, jdk, live.Attach, live.Calls, live.Exceptions, live.Loading)
		p.Run(1)
		s := open(t, p)
		var loaded atomic.Int64
		err := s.OnLoading(t.Context(), []string{"java/", "jdk/", "sun/"}, func(class string, file []byte) []Spot {
			loaded.Add(1)
			return spotsIn(class, file)
		})
		if err != nil {
			t.Fatal(err)
		}
		isOurs := patterns(t, "calls.**", "exceptions.**").MatchClass
		classes, err := s.Prefetch(t.Context(), isOurs, isOurs)
		if err != nil {
			t.Fatal(err)
		}
		var spots []Spot
		for _, c := range classes {
			spots = append(spots, spotsIn(c.Name, c.File)...)
		}
		p.StartLoad(2)
		for range cycles {
			if _, err := s.Watch(t.Context(), WatchRequest{Spots: spots, HandOff: true}); err != nil {
				t.Fatal(err)
			}
			for rounds := p.Rounds(); p.Rounds() < rounds+4; {
				continue // asks the program each time
			}
			if err := s.Unwatch(t.Context(), spots); err != nil {
				t.Fatal(err)
			}
		}
		p.StopLoad()
		p.Check()
		sum, err := s.Sum()
		if err != nil || loaded.Load() == 0 {
			t.Fatalf("%d classes have loaded: %v", loaded.Load(), err)
		}
		var calls uint64
		for _, one := range spots {
			if totals := sum.Methods[s.SpotID(one)]; totals != nil {
				calls += totals.Calls
			}
		}
		if calls == 0 || sum.Dropped != 0 {
			t.Errorf("%d calls, %d lost", calls, sum.Dropped)
		}
		if farewell, err := s.Close(t.Context()); err != nil || !farewell.Restored.Unmapped || len(farewell.Remarks) != 0 {
			t.Errorf("leaving: %+v, %v", farewell, err)
		}
		p.Check()
	})
}
