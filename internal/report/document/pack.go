package document

import (
	"fmt"
	"slices"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
	"github.com/sonde-jvm/sonde/internal/weave/pack/build"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
)

// Plan is written by `sonde plan --json`.
type Plan struct {
	Inputs    []string             `json:"inputs"`
	Read      int                  `json:"classesRead"`
	ByFate    map[string]FateCount `json:"byFate"`
	Classes   []Fate               `json:"classes"`
	Probes    []Found              `json:"probes"`
	Tags      []Found              `json:"tags,omitempty"`
	Unmatched []build.Unmatched    `json:"unmatched,omitempty"`
	Notes     []string             `json:"notes,omitempty"`
	Refused   string               `json:"packRefused,omitempty"`
	session.Weavings
}

// FateCount counts the classes with one fate.
type FateCount struct {
	Classes int `json:"classes"`
	Methods int `json:"methods"`
}

// Fate is what happens to a class, and why.
type Fate struct {
	Class   string `json:"class"`
	In      string `json:"in,omitempty"`
	JDK     bool   `json:"jdk,omitempty"`
	Fate    string `json:"fate"`
	Why     string `json:"why"`
	Methods int    `json:"methods"`
	Left    []Left `json:"leftAlone,omitempty"`
}

// Found is a probe or tag with the methods that it matches.
type Found struct {
	Name    string   `json:"name"`
	Methods []string `json:"methods"`
	Anchors int      `json:"methodsOfSequences,omitempty"`
	LeftOut []Left   `json:"leftOut,omitempty"`
}

// Left is a class or method without a hook.
type Left struct {
	Class  string `json:"class,omitempty"`
	Method string `json:"method,omitempty"`
	Reason string `json:"reason"`
}

// NewPlan describes a plan for archives. refused is why no pack can be made of it.
func NewPlan(inputs []string, p *build.Planned, refused string) *Plan {
	d := &Plan{
		Inputs: inputs, Read: p.Read, ByFate: map[string]FateCount{}, Classes: []Fate{}, Probes: newFound(p.Probes),
		Tags: newFound(p.Tags), Unmatched: p.Unmatched, Notes: slices.Concat(p.Dropped, p.Notes), Refused: refused, Weavings: p.Woven,
	}
	for i := range p.Classes {
		c := &p.Classes[i]
		name := FateName(c.When)
		sum := d.ByFate[name]
		d.ByFate[name] = FateCount{sum.Classes + 1, sum.Methods + c.Methods}
		d.Classes = append(d.Classes, Fate{
			Class: descriptor.ExternalName(c.Class), In: c.In, JDK: c.IsJDK(), Fate: name, Why: c.Why, Methods: c.Methods, Left: NewPackLeft(c.Left, false),
		})
	}
	for _, broken := range p.Broken {
		d.Notes = append(d.Notes, broken.Reason)
	}
	return d
}

// FateName returns the name of a fate.
func FateName(when probeset.When) string {
	if when == probeset.Unstated {
		return "unweavable"
	}
	return when.String()
}

func newFound(applied []probes.Applied) []Found {
	all := []Found{}
	for i := range applied {
		a := &applied[i]
		one := Found{Name: a.Name, Methods: a.Methods, Anchors: a.Anchors}
		if one.Methods == nil {
			one.Methods = []string{}
		}
		for _, left := range a.LeftOut {
			one.LeftOut = append(one.LeftOut, Left{Method: left.Method, Reason: format.OneLine(left.Err)})
		}
		all = append(all, one)
	}
	return all
}

// NewPackLeft describes what was left alone.
func NewPackLeft(left []pack.Left, withClass bool) (all []Left) {
	for _, l := range left {
		one := Left{Method: l.Method, Reason: l.Reason}
		if withClass {
			one.Class = descriptor.ExternalName(l.Class)
		}
		all = append(all, one)
	}
	return all
}

// Pack is written by `sonde pack --json`.
type Pack struct {
	Output  string   `json:"output"`
	Read    int      `json:"classesRead"`
	Classes int      `json:"classes"`
	Methods int      `json:"methods"`
	Bytes   int64    `json:"bytes"`
	Left    []Left   `json:"leftAlone"`
	Notes   []string `json:"notes,omitempty"`
	Seconds float64  `json:"seconds"`
	session.Weavings
}

// PackShow is written by `sonde pack show --json`.
type PackShow struct {
	File     string        `json:"file"`
	Of       string        `json:"of"`
	Build    string        `json:"agentBuild"`
	IsOwn    bool          `json:"isThisSondesAgent"`
	Engine   string        `json:"engine"`
	Sizes    pack.Sizes    `json:"sizes"`
	Classes  []PackedClass `json:"classes"`
	Spots    []PackedHook  `json:"spots"`
	Left     []Left        `json:"leftAlone"`
	Settings string        `json:"probes"`
}

// PackedClass is a class of a pack.
type PackedClass struct {
	Class   string         `json:"class"`
	SHA256  string         `json:"sha256"` // of the original
	Size    int            `json:"size"`
	Methods []PackedMethod `json:"methods"`
}

// PackedMethod is a method of a packed class.
type PackedMethod struct {
	Method    string   `json:"method"`
	Templates []string `json:"templates,omitempty"`
	Reason    string   `json:"leftAlone,omitempty"`
}

// PackedHook is a hook of a pack.
type PackedHook struct {
	ID         uint32   `json:"id"`
	Class      string   `json:"class"`
	Method     string   `json:"method"`
	Descriptor string   `json:"descriptor"`
	Probe      string   `json:"probe"`
	Within     string   `json:"within,omitempty"`
	GroupBy    []string `json:"groupBy,omitempty"`
}

// NewPackShow describes a pack.
func NewPackShow(file string, content *pack.Content, sizes pack.Sizes) *PackShow {
	d := &PackShow{
		File: file, Of: content.Title, Build: content.Build, IsOwn: content.Build == agent.AgentBuild(), Engine: content.Engine, Sizes: sizes,
		Classes: []PackedClass{}, Spots: []PackedHook{}, Left: NewPackLeft(content.Left, true), Settings: string(content.Probes),
	}
	if d.Left == nil {
		d.Left = []Left{}
	}
	for _, class := range content.Classes {
		e := class.Entry
		one := PackedClass{Class: descriptor.ExternalName(e.Class), SHA256: fmt.Sprintf("%x", e.Original.Digest), Size: e.Original.Size, Methods: []PackedMethod{}}
		for i := range e.Methods {
			m := &e.Methods[i]
			method := PackedMethod{Method: m.Name + m.Descriptor, Templates: m.Templates}
			if !m.Woven {
				method.Reason = m.Reason.Error()
			}
			one.Methods = append(one.Methods, method)
		}
		d.Classes = append(d.Classes, one)
	}
	for _, n := range content.Names {
		d.Spots = append(d.Spots, PackedHook{n.ID, descriptor.ExternalName(n.Class), n.Method, n.Descriptor, n.Probe, n.Sequence, n.Groups})
	}
	return d
}

// PackVerify is written by `sonde pack verify --json`.
type PackVerify struct {
	File    string   `json:"file"`
	Classes int      `json:"classes"`
	IsOwn   bool     `json:"isThisSondesAgent"`
	Found   int      `json:"found"`   // classes of the pack that the archives have
	Differs []string `json:"differs"` // classes of the pack with other bytes in the archives
	Missing []string `json:"missing"` // classes of the pack that no archive has
	Bad     []string `json:"damaged"` // classes that cannot be restored from the pack
}
