package weave

import (
	"encoding/binary"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
)

// job is a method to be woven, and what with.
type job struct {
	member     *classfile.Member
	code       *classfile.Attribute
	name, desc []byte
	templates  []*Template // around it, the first outermost
	sites      []site      // calls in it
}

// method weaves one method, and reports whether anything of it was chosen. Where
// hooks at calls are more than it can bear, it is woven without them.
func (w *Weaver) method(j *job, info MethodInfo) (r MethodResult, chosen bool) {
	r = MethodResult{Name: info.Name, Descriptor: info.Descriptor}
	r.Reason = w.lift(j)
	if r.Reason == nil && w.wraps() {
		j.sites = w.target.chooseSites(info)
	}
	if len(j.templates) == 0 && len(j.sites) == 0 {
		return r, false
	}
	if r.Reason == nil {
		r.Offsets, r.Left, r.Reason = w.weave(j)
	}
	r.Sites = len(j.sites) - len(r.Left)
	if len(j.sites) > 0 && tooMuch(r.Reason) {
		r.Sites, r.Left = 0, leaveAll(j.sites, r.Reason)
		if j.sites = nil; len(j.templates) > 0 {
			if r.Reason = w.lift(j); r.Reason == nil {
				r.Offsets, _, r.Reason = w.weave(j)
			}
		}
	}
	if r.Woven = r.Reason == nil; !r.Woven {
		r.Sites = 0
	}
	return r, true
}

// wraps reports whether calls can be chosen at all.
func (w *Weaver) wraps() bool { return w.Sites != nil && w.SiteTemplate != nil }

// lift makes a method the target.
func (w *Weaver) lift(j *job) error {
	body, err := w.lifter.LiftCode(&w.class, j.code.Data)
	if err == nil {
		err = w.target.reset(w, j.member, body, j.name, j.desc)
	}
	if err != nil {
		return &Reason{Malformed, err.Error()}
	}
	return nil
}

// weave weaves the target, from the innermost out: first its calls, then templates
// around all of it.
func (w *Weaver) weave(j *job) (_ code.OffsetMap, left []LeftSite, err error) {
	g := &w.target
	w.failed = nil
	if len(j.templates) > 0 {
		err = g.prepare()
	}
	if len(j.sites) > 0 && err == nil {
		left, err = g.wrapSites(j.sites)
		if err == nil && len(left) == len(j.sites) && len(j.templates) == 0 {
			err = left[0].Reason
		}
	}
	for i := len(j.templates) - 1; i >= 0 && err == nil; i-- {
		err = g.around(j.templates[i])
	}
	if err == nil {
		err = w.failed
	}
	if full := w.class.Pool.Err(); full != nil {
		err = full // whatever else went wrong comes of it
	}
	if err != nil {
		return nil, left, asReason(err)
	}
	offsets, err := w.lower(j, len(left) < len(j.sites))
	return offsets, left, err
}

// lower puts the woven body in its place.
func (w *Weaver) lower(j *job, wrapped bool) (code.OffsetMap, error) {
	body := w.target.body
	body.FrameBehind, w.branches = w.behind, nil
	start := len(w.bodies)
	var err error
	if w.bodies, err = body.Append(w.bodies); err != nil {
		w.bodies = w.bodies[:start]
		return nil, asReason(err)
	}
	data := w.bodies[start:len(w.bodies):len(w.bodies)]
	if was, is := codeSize(j.code.Data), codeSize(data); wrapped && was <= mostCompiled && is > mostCompiled {
		w.bodies = w.bodies[:start]
		return nil, &Reason{TooLarge, "hooks at its calls would make it " + itoa(is) + " bytes long, and the JVM compiles none of more than " + itoa(mostCompiled)}
	}
	j.code.Data = data
	from := len(w.shifts)
	w.shifts = append(w.shifts, body.Offsets()...)
	return w.shifts[from:], nil // moved to their place when all are there
}

// codeSize returns how long the code is that a Code attribute holds.
func codeSize(attribute []byte) int { return int(binary.BigEndian.Uint32(attribute[4:])) }
