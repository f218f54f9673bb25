package classtest

// module decodes JVMS 4.7.25.
func (p *parser) module(c *cursor, _ *body) {
	name := p.named(c, c.u2(), tagModule)
	p.line("%s flags %04x version %s", name, c.u2(), p.quotedOrNone(c, c.u2()))
	for n := c.u2(); n > 0; n-- {
		name := p.named(c, c.u2(), tagModule)
		p.line("requires %s flags %04x version %s", name, c.u2(), p.quotedOrNone(c, c.u2()))
	}
	p.packagesTo(c, "exports")
	p.packagesTo(c, "opens")
	for n := c.u2(); n > 0; n-- {
		p.line("uses %s", p.class(c, c.u2()))
	}
	for n := c.u2(); n > 0; n-- {
		p.line("provides %s", p.class(c, c.u2()))
		for k := c.u2(); k > 0; k-- {
			p.line("  with %s", p.class(c, c.u2()))
		}
	}
}

func (p *parser) packagesTo(c *cursor, what string) {
	for n := c.u2(); n > 0; n-- {
		name := p.named(c, c.u2(), tagPackage)
		p.line("%s %s flags %04x", what, name, c.u2())
		for k := c.u2(); k > 0; k-- {
			p.line("  to %s", p.named(c, c.u2(), tagModule))
		}
	}
}

func (p *parser) modulePackages(c *cursor, _ *body) {
	for n := c.u2(); n > 0; n-- {
		p.line("%s", p.named(c, c.u2(), tagPackage))
	}
}
