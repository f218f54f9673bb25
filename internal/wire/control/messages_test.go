package control

import "encoding/binary"

// The agent's half of the codec: tests play the agent.

func (h hello) append(dst []byte) []byte {
	dst = appendText(appendU16(dst, h.Protocol), h.token)
	return appendText(appendText(appendText(dst, h.Build), h.Java), h.HookClass)
}

func (w *welcome) read(c *cursor) { w.proof, w.lease = c.text(), c.u32() }

func (s classes) append(dst []byte) []byte {
	return appendList(appendFlag(dst, s.last), s.list, func(dst []byte, class Class) []byte {
		dst = append(appendU32(appendU32(dst, class.Handle), class.Loader), byte(class.Flags))
		return appendText(dst, class.Name)
	})
}

func (o original) append(dst []byte) []byte {
	return appendText(appendFlag(appendU32(dst, o.handle), o.found), o.bytes)
}

func (s seen) append(dst []byte) []byte {
	return appendList(dst, s, func(dst []byte, one sight) []byte { return appendText(appendU32(dst, one.handle), one.reason) })
}

func (i Installed) append(dst []byte) []byte {
	return appendText(handles(i.Gone).append(appendU64(dst, i.Nanos)), i.Err)
}

func (r Restored) append(dst []byte) []byte {
	dst = appendFlag(appendU32(appendU64(dst, r.Nanos), r.Classes), r.Unmapped)
	return appendList(dst, r.Remarks, appendText[string])
}

func (r Restoring) append(dst []byte) []byte { return appendU32(appendU32(dst, r.Done), r.All) }

func (t Transform) append(dst []byte) []byte {
	return appendText(appendText(appendU32(appendU32(dst, t.Handle), t.Loader), t.Name), t.Bytes)
}

func (w *Woven) read(c *cursor) { w.New, w.Original = c.bytes(), c.bytes() }

func (m *mapping) read(c *cursor) { m.path, m.length, m.epoch = c.text(), c.u64(), c.u32() }

func (w *words) read(c *cursor) { *w = readList(c, 8, (*cursor).u64) }

func (v *view) read(c *cursor) {
	v.filters = readList(c, 2*textSize, func(c *cursor) Filter { return Filter{c.text(), c.text()} })
	v.excludes = readList(c, textSize, (*cursor).text)
}

func (o *choice) read(c *cursor) { *o = choice(c.flag()) }

func (s threads) append(dst []byte) []byte {
	return appendList(dst, s, func(dst []byte, one Thread) []byte { return appendText(appendU64(dst, one.ID), one.Name) })
}

func (k *Calibration) read(c *cursor) {
	k.Rounds, k.Setting, k.Body, k.Steps = c.u32(), c.u32(), c.u8(), c.u32()
	if k.Body > BodyNested {
		c.fail()
	}
}

func (r runs) append(dst []byte) []byte {
	return appendList(dst, r, func(dst []byte, one Run) []byte {
		return appendU64(appendU64(appendU64(appendU64(dst, one.Plain), one.Hooked), one.Measured), one.Timed)
	})
}

func (w *Watches) read(c *cursor) {
	w.Fresh = c.flag()
	(*words)(&w.Table).read(c)
	w.Anchors = readList(c, textSize+4, func(c *cursor) Anchor { return Anchor{c.text(), c.u32()} })
	w.Bridges = readList(c, textSize, (*cursor).text)
}

func appendU16(dst []byte, v uint16) []byte { return binary.BigEndian.AppendUint16(dst, v) }
