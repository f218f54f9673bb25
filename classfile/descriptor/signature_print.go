package descriptor

// String is the signature as it stands in a class file.
func (c *ClassSignature) String() string {
	b := appendTypeParams(nil, c.TypeParams)
	b = c.Superclass.appendTo(b)
	for i := range c.Interfaces {
		b = c.Interfaces[i].appendTo(b)
	}
	return string(b)
}

// String is the signature as it stands in a class file.
func (m *MethodSignature) String() string {
	b := appendTypeParams(nil, m.TypeParams)
	b = append(b, '(')
	for i := range m.Params {
		b = m.Params[i].appendTo(b)
	}
	b = append(b, ')')
	b = m.Return.appendTo(b)
	for i := range m.Throws {
		b = append(b, '^')
		b = m.Throws[i].appendTo(b)
	}
	return string(b)
}

// String is the type as it stands in a class file.
func (t SigType) String() string { return string(t.appendTo(nil)) }

func (t *SigType) appendTo(b []byte) []byte {
	for t.Kind == '[' {
		b = append(b, '[')
		t = t.Elem
	}
	b = append(b, t.Kind)
	switch t.Kind {
	case 'T':
		b = append(b, t.Name...)
	case 'L':
		for i := range t.Classes {
			if i > 0 {
				b = append(b, '.')
			}
			b = append(b, t.Classes[i].Name...)
			b = appendTypeArgs(b, t.Classes[i].Args)
		}
	default:
		return b
	}
	return append(b, ';')
}

func appendTypeArgs(b []byte, args []TypeArg) []byte {
	if len(args) == 0 {
		return b
	}
	b = append(b, '<')
	for i := range args {
		if args[i].Wildcard != 0 {
			b = append(b, args[i].Wildcard)
		}
		if args[i].Wildcard != '*' {
			b = args[i].Type.appendTo(b)
		}
	}
	return append(b, '>')
}

func appendTypeParams(b []byte, params []TypeParam) []byte {
	if len(params) == 0 {
		return b
	}
	b = append(b, '<')
	for i := range params {
		b = append(b, params[i].Name...)
		b = append(b, ':')
		if params[i].ClassBound != nil {
			b = params[i].ClassBound.appendTo(b)
		}
		for j := range params[i].InterfaceBounds {
			b = append(b, ':')
			b = params[i].InterfaceBounds[j].appendTo(b)
		}
	}
	return append(b, '>')
}
