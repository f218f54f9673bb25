package session

import (
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// A bench is what one class after the other is woven with.
type bench struct {
	weaver *weave.Weaver
	site   *weave.SiteTemplate
	class  classfile.Class
	spec   []byte
	alarm  *time.Timer // goes off where the cache is slow; nil until it is asked
}

func (w *workshop) newBench() *bench {
	b := &bench{weaver: weave.NewWeaver(), site: w.templates.site}
	b.weaver.Identify = w.book.identify
	return b
}

// fill weaves what is ordered. The result's list of methods lives until the next.
func (b *bench) fill(o *order, class []byte) (weave.Result, error) {
	b.weaver.Sites, b.weaver.SiteTemplate = nil, nil
	current := -1 // the method at hand: the weaver takes them one after the other
	if o.sites {
		b.weaver.SiteTemplate = b.site
		b.weaver.Sites = func(_ weave.MethodInfo, call weave.Call) (int32, bool) {
			calls := o.methods[current].sites
			if len(calls) == 0 {
				return 0, false
			}
			id, is := calls[call.Owner+"."+call.Name+call.Descriptor]
			return int32(id), is
		}
	}
	return b.weaver.Append(nil, class, func(weave.MethodInfo) []*weave.Template {
		current++
		return o.methods[current].templates
	})
}
