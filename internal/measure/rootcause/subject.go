package rootcause

import (
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/measure/climb"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A subject is a method that the walk knows of, and what became of it.
type subject struct {
	method
	id     uint32
	native bool
	state  climb.State
	reason string // why it has no hook
	own    bool   // its hook is in it; else around calls of it
	woven  bool   // its hook is in, or those around calls of it are
	sites  []session.Site

	on       time.Duration // how long its hook was, until since
	since    time.Time
	measured *climb.Measured
	calls    uint64            // that its hook saw
	drawn    uint64            // of those, whose caller is known
	callers  map[method]uint64 // of those
	nanos    map[method]uint64 // their times, by caller
}

// setting is the hook of a subject with some flags.
func (s *subject) setting(flags arena.Flags, period uint32) session.Hook {
	return session.Hook{Class: s.class, Name: s.name, Descriptor: s.descriptor, Flags: flags, Period: period}
}

// request has a subject's hooks do something: its own, or those around calls of it.
func (s *subject) request(to *session.Request, flags arena.Flags, period uint32) {
	if s.own {
		to.Hooks = append(to.Hooks, s.setting(flags, period))
		return
	}
	if flags != 0 {
		flags |= arena.Here
	}
	for _, site := range s.sites {
		site.Native = s.setting(flags, period)
		to.Sites = append(to.Sites, site)
	}
}

// classes are those that a subject's hooks are woven into.
func (s *subject) classes() []string {
	if s.own {
		return []string{s.class}
	}
	var all []string
	for _, site := range s.sites {
		all = append(all, site.Class)
	}
	return all
}

// sitesIn finds the calls of a method in a caller's code, by where stacks show them.
func sitesIn(file []byte, caller, callee method, offsets map[int]bool) []session.Site {
	class, err := classfile.Parse(file)
	if err != nil {
		return nil
	}
	body := bodyOf(class, caller)
	found := make(map[session.Site]bool)
	var sites []session.Site
	for at := range offsets {
		site, is := siteAt(class, body, at)
		site.Class, site.Name, site.Descriptor = caller.class, caller.name, caller.descriptor
		if is && site.Called == callee.name && site.CalledDescriptor == callee.descriptor && !found[site] {
			found[site] = true
			sites = append(sites, site)
		}
	}
	return sites
}

// The instructions that call: virtual, special, static and through an interface.
const firstInvoke, lastInvoke = 0xb6, 0xb9

// siteAt reads the call at an offset of a method's code.
func siteAt(class *classfile.Class, body []byte, at int) (session.Site, bool) {
	if at < 0 || at+2 >= len(body) || body[at] < firstInvoke || body[at] > lastInvoke {
		return session.Site{}, false
	}
	owner, name, descriptor, err := class.Pool.Member(uint16(body[at+1])<<8 | uint16(body[at+2]))
	if err != nil || len(name) == 0 || name[0] == '<' {
		return session.Site{}, false
	}
	return session.Site{Owner: string(owner), Called: string(name), CalledDescriptor: string(descriptor)}, true
}

// bodyOf is the code of a method; nil where it has none.
func bodyOf(class *classfile.Class, m method) []byte {
	for i := range class.Methods {
		member := &class.Methods[i]
		name, descriptor, err := class.MemberName(member)
		if err != nil || string(name) != m.name || string(descriptor) != m.descriptor {
			continue
		}
		attribute := class.Find(member.Attributes, classfile.KindCode)
		if attribute == nil {
			return nil
		}
		contents, err := class.Decode(*attribute)
		if err != nil {
			return nil
		}
		if code, is := contents.(*classfile.Code); is {
			return code.Bytes
		}
	}
	return nil
}
