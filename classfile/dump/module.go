package dump

import (
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
)

func (p *printer) module(m *classfile.Module) {
	p.line("%s%s version %s", moduleFlags.text(m.Access), p.moduleName(m.Name), orNone(m.Version, p.quoted))
	for _, r := range m.Requires {
		p.line("requires %s%s version %s", requireFlags.text(r.Access), p.moduleName(r.Module), orNone(r.Version, p.quoted))
	}
	p.exports("exports", m.Exports)
	p.exports("opens", m.Opens)
	for _, i := range m.Uses {
		p.line("uses %s", p.className(i))
	}
	for _, s := range m.Provides {
		p.line("provides %s", p.className(s.Service))
		p.within(func() {
			for _, i := range s.With {
				p.line("with %s", p.className(i))
			}
		})
	}
}

func (p *printer) exports(verb string, list []classfile.ModuleExport) {
	for _, e := range list {
		p.line("%s %s%s", verb, exportFlags.text(e.Access), p.packageName(e.Package))
		p.within(func() {
			for _, i := range e.To {
				p.line("to %s", p.moduleName(i))
			}
		})
	}
}

func (p *printer) bootstrapMethods(table classfile.BootstrapMethods) {
	for i := range table {
		var b strings.Builder
		p.writeBootstrap(&b, &table[i], 0)
		p.line("%s", b.String())
	}
}
