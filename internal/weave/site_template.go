package weave

// SiteTemplate is a template for single calls: what it calls its target is one call
// instruction, in the middle of a method. Like a Template it is never modified.
type SiteTemplate struct{ t *Template }

// Name returns the class and method the template was made from.
func (t *SiteTemplate) Name() string { return t.t.name }

// CompileSiteTemplate makes a template for calls of a static method, as
// CompileTemplate does. Such a template may ask for Template.methodId(), which is
// the call's id, and for nothing else: arguments and result stay on the stack.
func CompileSiteTemplate(class []byte, method string) (*SiteTemplate, error) {
	t, err := CompileTemplate(class, method)
	if err != nil {
		return nil, err
	}
	refuse := func(detail string) (*SiteTemplate, error) { return nil, &TemplateError{t.name, detail} }
	returns := false
	for _, it := range t.items {
		if it.act == actIntrinsic && it.value != doMethodID {
			return refuse("asks for more than Template.methodId(), which is all that is known of a call")
		}
		returns = returns || it.act == actReturn
	}
	for _, f := range t.frames {
		if f.state != isBefore && f.state != isAfter && f.state != isThrown {
			return refuse("has code that runs in several of these cases: before a call, behind it, after it threw")
		}
	}
	if !returns {
		return refuse("never returns, so that nothing behind the call would run")
	}
	return &SiteTemplate{t}, nil
}

// behindTarget returns the number of the item before which what the call left on the
// stack is put aside: right behind the call, or behind the labels there, where all
// they do is to end blocks. Where a frame follows, something jumps to them.
func (t *Template) behindTarget() int {
	at := 0
	for t.items[at].act != actTarget {
		at++
	}
	at++
	first := at
	for at < len(t.items) && t.items[at].act == actLabel {
		at++
	}
	if at < len(t.items) && t.items[at].act == actFrame {
		return first
	}
	return at
}
