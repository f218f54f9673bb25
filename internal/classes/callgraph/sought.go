package callgraph

import (
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
)

// A class that looks methods up, to make handles of them, most often names them in
// its constants. A handle may be older than the graph and nothing tells what it
// calls; so once handles are invoked, methods of these names count as called.

const lookup = "java/lang/invoke/MethodHandles$Lookup"

// readSought notes what a class that looks methods up may mean by its strings.
func (r *reader) readSought() error {
	finds := false
	for i := 1; i < r.file.Pool.Len() && !finds; i++ {
		if r.file.Pool.Tag(uint16(i)) != classfile.TagMethodref {
			continue
		}
		class, name, _, err := r.file.Pool.Member(uint16(i))
		if err != nil {
			return err
		}
		if string(class) == lookup && strings.HasPrefix(string(name), "find") {
			finds = true
			if string(name) == "findConstructor" {
				r.draft.sought = append(r.draft.sought, "<init>")
			}
		}
	}
	for i := 1; i < r.file.Pool.Len() && finds; i++ {
		if r.file.Pool.Tag(uint16(i)) != classfile.TagString {
			continue
		}
		text, err := r.file.Pool.StringValue(uint16(i))
		if err != nil {
			return err
		}
		r.draft.sought = append(r.draft.sought, string(text))
	}
	return nil
}

// followSought reaches all methods with a name that is sought.
func (r *reach) followSought() {
	for id := range r.h.classes {
		r.soughtOf(classID(id))
	}
}

// soughtOf reaches those of one class.
func (r *reach) soughtOf(c classID) {
	class := &r.h.classes[c]
	if class.skipped || class.lambda || !class.mirrored() {
		return
	}
	for _, d := range class.methods {
		if r.h.sought[r.h.sigs[d.sig].name] {
			r.hit(none, d.id)
		}
	}
}
