package cli

import (
	"fmt"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
)

// packShowJSON is what `sonde pack show --json` writes.
type packShowJSON struct {
	File     string            `json:"file"`
	Of       string            `json:"of"`
	Build    string            `json:"agentBuild"`
	IsOwn    bool              `json:"isThisSondesAgent"`
	Engine   string            `json:"engine"`
	Sizes    pack.Sizes        `json:"sizes"`
	Classes  []packedClassJSON `json:"classes"`
	Spots    []packedSpotJSON  `json:"spots"`
	Left     []leftOutJSON     `json:"leftAlone"`
	Settings string            `json:"probes"`
}

type packedClassJSON struct {
	Class   string             `json:"class"`
	SHA256  string             `json:"sha256"` // of the original
	Size    int                `json:"size"`
	Methods []packedMethodJSON `json:"methods"`
}

type packedMethodJSON struct {
	Method    string   `json:"method"`
	Templates []string `json:"templates,omitempty"`
	Reason    string   `json:"leftAlone,omitempty"`
}

type packedSpotJSON struct {
	ID         uint32   `json:"id"`
	Class      string   `json:"class"`
	Method     string   `json:"method"`
	Descriptor string   `json:"descriptor"`
	Probe      string   `json:"probe"`
	Within     string   `json:"within,omitempty"`
	GroupBy    []string `json:"groupBy,omitempty"`
}

func describePack(file string, content *pack.Content, sizes pack.Sizes) *packShowJSON {
	told := &packShowJSON{
		File: file, Of: content.Title, Build: content.Build, IsOwn: content.Build == agent.AgentBuild(), Engine: content.Engine, Sizes: sizes,
		Classes: []packedClassJSON{}, Spots: []packedSpotJSON{}, Left: describePackLeft(content.Left, true), Settings: string(content.Probes),
	}
	if told.Left == nil {
		told.Left = []leftOutJSON{}
	}
	for _, class := range content.Classes {
		e := class.Entry
		one := packedClassJSON{Class: descriptor.ExternalName(e.Class), SHA256: fmt.Sprintf("%x", e.Original.Digest), Size: e.Original.Size, Methods: []packedMethodJSON{}}
		for i := range e.Methods {
			m := &e.Methods[i]
			method := packedMethodJSON{Method: m.Name + m.Descriptor, Templates: m.Templates}
			if !m.Woven {
				method.Reason = m.Reason.Error()
			}
			one.Methods = append(one.Methods, method)
		}
		told.Classes = append(told.Classes, one)
	}
	for _, n := range content.Names {
		told.Spots = append(told.Spots, packedSpotJSON{n.ID, descriptor.ExternalName(n.Class), n.Method, n.Descriptor, n.Probe, n.Sequence, n.Groups})
	}
	return told
}
