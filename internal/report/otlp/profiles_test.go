package otlp

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	profilespb "go.opentelemetry.io/proto/otlp/profiles/v1development"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/pprof"
	"github.com/sonde-jvm/sonde/internal/report/reporttest"
)

// TestProfile: by value, stack and label, the file has the samples that the pprof file has.
func TestProfile(t *testing.T) {
	hot := reporttest.HotSpots()
	for _, test := range []struct {
		name   string
		target cct.Target
		made   *profile.Profile
	}{
		{"profile", reporttest.Shop(1).Target, pprof.OfProfile(reporttest.Shop(1))},
		{"sampled below hooks", reporttest.ShopStacks().Target, pprof.OfProfile(reporttest.ShopStacks())},
		{"handed over", reporttest.Handed().Target, pprof.OfProfile(reporttest.Handed())},
		{"hot spots", hot.Target, pprof.OfHot(hot)},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := WriteProfile(&out, test.target, test.made); err != nil {
				t.Fatal(err)
			}
			var data profilespb.ProfilesData
			if err := protojson.Unmarshal(out.Bytes(), &data); err != nil {
				t.Fatal(err)
			}
			if want, got := sumsOf(test.made), sumsOfOTLP(&data); !maps.Equal(want, got) {
				t.Errorf("want %v\ngot %v", want, got)
			}
			if made := data.ResourceProfiles[0].ScopeProfiles[0].Profiles[0]; made.DurationNano != uint64(test.made.DurationNanos) {
				t.Errorf("duration: want %d, got %d", test.made.DurationNanos, made.DurationNano)
			}
		})
	}
}

func sumsOf(p *profile.Profile) map[string]int64 {
	sums := map[string]int64{}
	for _, s := range p.Sample {
		var stack []string
		for _, l := range s.Location {
			stack = append(stack, fmt.Sprintf("%s:%d", l.Line[0].Function.Name, l.Line[0].Line))
		}
		for i, v := range s.Value {
			if v != 0 {
				sums[fmt.Sprint(p.SampleType[i].Type, p.SampleType[i].Unit, strings.Join(stack, ";"), s.Label["thread"])] += v
			}
		}
	}
	return sums
}

func sumsOfOTLP(data *profilespb.ProfilesData) map[string]int64 {
	d := data.Dictionary
	sums := map[string]int64{}
	for _, p := range data.ResourceProfiles[0].ScopeProfiles[0].Profiles {
		for _, s := range p.Samples {
			var stack []string
			for _, i := range d.StackTable[s.StackIndex].LocationIndices {
				line := d.LocationTable[i].Lines[0]
				stack = append(stack, fmt.Sprintf("%s:%d", d.StringTable[d.FunctionTable[line.FunctionIndex].NameStrindex], line.Line))
			}
			var threads []string
			for _, i := range s.AttributeIndices {
				if a := d.AttributeTable[i]; d.StringTable[a.KeyStrindex] == "sonde.thread" {
					threads = append(threads, a.Value.GetStringValue())
				}
			}
			sums[fmt.Sprint(d.StringTable[p.SampleType.TypeStrindex], d.StringTable[p.SampleType.UnitStrindex], strings.Join(stack, ";"), threads)] += s.Values[0]
		}
	}
	return sums
}
