package report

import (
	"fmt"
	"io"
	"math"

	"github.com/google/pprof/profile"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/climb"
	"github.com/sonde-jvm/sonde/internal/report/ascent"
)

// writeClimbPProf writes a sample for each way up from each hot spot, which is the
// innermost. Hits are samples of the program, divided by what is known of the ways;
// time is the part of the sampled time that they stand for.
func writeClimbPProf(w io.Writer, c *climb.Climb) error {
	b := &pprofBuilder{names: climbNames(c), profile: &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "hits", Unit: "count"}, {Type: "time", Unit: "nanoseconds"}},
		DefaultSampleType: "time",
		DurationNanos:     int64(c.Took),
		Comments:          []string{title(cct.Target(c.Target)), "the ways up from hot spots"},
	}}
	if !c.Began.IsZero() {
		b.profile.TimeNanos = c.Began.UnixNano()
	}
	mapping := &profile.Mapping{ID: 1, File: c.Target.Command, HasFunctions: true}
	b.profile.Mapping = []*profile.Mapping{mapping}
	for i, m := range c.Methods {
		b.addMethod(uint64(i)+1, cct.Method(m), mapping)
	}
	for i := range c.Spots {
		b.addSpot(c, &c.Spots[i])
	}
	if err := b.profile.CheckValid(); err != nil {
		return fmt.Errorf("pprof: %w", err)
	}
	return b.profile.Write(w)
}

func (b *pprofBuilder) addSpot(c *climb.Climb, s *climb.Spot) {
	label := map[string][]string{"hot spot": {b.names[s.Method]}}
	for _, way := range ascent.WaysOf(s) {
		part := s.Share.Part * way.Part
		hits := int64(math.Round(part * float64(c.Sampled.Samples)))
		nanos := int64(math.Round(part * float64(c.Sampled.Over)))
		if hits == 0 && nanos == 0 {
			continue
		}
		stack := make([]*profile.Location, len(way.Methods))
		for i, method := range way.Methods {
			stack[i] = b.profile.Location[method]
		}
		b.profile.Sample = append(b.profile.Sample, &profile.Sample{Location: stack, Label: label, Value: []int64{hits, nanos}})
	}
}
