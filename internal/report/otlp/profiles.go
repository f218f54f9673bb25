package otlp

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/google/pprof/profile"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/otlp/profiles/v1development"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

// WriteProfile writes the samples of a profile as OpenTelemetry's JSON: a profile for each kind of value, all
// with the same dictionary.
func WriteProfile(w io.Writer, target cct.Target, p *profile.Profile) error {
	d := newDictionary()
	scope := &profilespb.ScopeProfiles{Scope: &commonpb.InstrumentationScope{Name: "sonde"}}
	for i, kind := range p.SampleType {
		scope.Profiles = append(scope.Profiles, d.profileOf(p, i, kind))
	}
	data := &profilespb.ProfilesData{
		ResourceProfiles: []*profilespb.ResourceProfiles{{Resource: &resourcepb.Resource{Attributes: resourceOf(target)}, ScopeProfiles: []*profilespb.ScopeProfiles{scope}}},
		Dictionary:       d.made,
	}
	encoded, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(data)
	if err != nil {
		return fmt.Errorf("otlp: %w", err)
	}
	_, err = w.Write(append(encoded, '\n'))
	return err
}

// A dictionary holds what profiles refer to. The first element of each table means "none".
type dictionary struct {
	made       *profilespb.ProfilesDictionary
	texts      map[string]int32
	functions  map[uint64]int32
	locations  map[uint64]int32
	stacks     map[string]int32
	attributes map[[2]string]int32
}

func newDictionary() *dictionary {
	return &dictionary{
		made: &profilespb.ProfilesDictionary{
			MappingTable: []*profilespb.Mapping{{}}, LocationTable: []*profilespb.Location{{}}, FunctionTable: []*profilespb.Function{{}},
			LinkTable: []*profilespb.Link{{}}, StringTable: []string{""}, AttributeTable: []*profilespb.KeyValueAndUnit{{}}, StackTable: []*profilespb.Stack{{}},
		},
		texts: map[string]int32{"": 0}, functions: map[uint64]int32{}, locations: map[uint64]int32{}, stacks: map[string]int32{}, attributes: map[[2]string]int32{},
	}
}

// place returns the index of an element in its table, and adds it if it is new.
func place[K comparable, E any](known map[K]int32, key K, table *[]E, element func() E) int32 {
	at, has := known[key]
	if !has {
		made := element() // may add to other tables
		at = int32(len(*table))
		*table = append(*table, made)
		known[key] = at
	}
	return at
}

func (d *dictionary) text(text string) int32 {
	return place(d.texts, valid(text), &d.made.StringTable, func() string { return valid(text) })
}

func (d *dictionary) typeOf(kind *profile.ValueType) *profilespb.ValueType {
	if kind == nil {
		return nil
	}
	return &profilespb.ValueType{TypeStrindex: d.text(kind.Type), UnitStrindex: d.text(kind.Unit)}
}

// profileOf returns the samples with their values of one kind. Those without any are left out.
func (d *dictionary) profileOf(p *profile.Profile, kind int, is *profile.ValueType) *profilespb.Profile {
	made := &profilespb.Profile{
		SampleType: d.typeOf(is), PeriodType: d.typeOf(p.PeriodType), Period: p.Period,
		TimeUnixNano: uint64(max(0, p.TimeNanos)), DurationNano: uint64(max(0, p.DurationNanos)),
	}
	for _, s := range p.Sample {
		if s.Value[kind] == 0 {
			continue
		}
		sample := &profilespb.Sample{StackIndex: d.stack(s.Location), Values: []int64{s.Value[kind]}}
		for _, name := range slices.Sorted(maps.Keys(s.Label)) {
			for _, value := range s.Label[name] {
				sample.AttributeIndices = append(sample.AttributeIndices, d.attribute(name, value))
			}
		}
		made.Samples = append(made.Samples, sample)
	}
	return made
}

func (d *dictionary) stack(locations []*profile.Location) int32 {
	indices := make([]int32, 0, len(locations)) // the innermost first, as in pprof
	for _, l := range locations {
		indices = append(indices, place(d.locations, l.ID, &d.made.LocationTable, func() *profilespb.Location { return d.location(l) }))
	}
	return place(d.stacks, fmt.Sprint(indices), &d.made.StackTable, func() *profilespb.Stack { return &profilespb.Stack{LocationIndices: indices} })
}

func (d *dictionary) location(l *profile.Location) *profilespb.Location {
	made := &profilespb.Location{}
	for _, line := range l.Line {
		function := place(d.functions, line.Function.ID, &d.made.FunctionTable, func() *profilespb.Function {
			f := line.Function
			return &profilespb.Function{NameStrindex: d.text(f.Name), SystemNameStrindex: d.text(f.SystemName), FilenameStrindex: d.text(f.Filename)}
		})
		made.Lines = append(made.Lines, &profilespb.Line{FunctionIndex: function, Line: line.Line})
	}
	return made
}

func (d *dictionary) attribute(name, value string) int32 {
	return place(d.attributes, [2]string{name, value}, &d.made.AttributeTable, func() *profilespb.KeyValueAndUnit {
		return &profilespb.KeyValueAndUnit{
			KeyStrindex: d.text("sonde." + name),
			Value:       &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: valid(value)}},
		}
	})
}
