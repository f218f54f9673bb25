package weave_test

import (
	"path/filepath"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// TestSitesKeepAnnotations: an annotation on a type argument stays with its
// instruction, be it a call, and one on a caught type with its handler, though blocks
// were put before it.
func TestSitesKeepAnnotations(t *testing.T) {
	jdk := anyJDK(t)
	dir := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/java/Annotated.java"}, Flags: []string{"--release", "8", "-Xlint:none"}})
	data := readFile(t, filepath.Join(dir, "Annotated.class"))
	result, err := compileSites(t, jdk, "8").weaver(t, "site").Weave(data, noTemplates)
	if err != nil {
		t.Fatal(err)
	}
	before, after := annotations(t, parse(t, data)), annotations(t, parse(t, result.Bytes))
	calls := 0
	for i, a := range before {
		now := after[i]
		if a.at < 0 {
			if a.caught != "java/lang/IllegalStateException" || now.caught != a.caught {
				t.Errorf("a handler's annotation is at one of %s, was at one of %s", now.caught, a.caught)
			}
			continue
		}
		if want, ok := result.Methods[0].Offsets.New(a.at); !ok || now.at != want {
			t.Errorf("an annotation of offset %d is at %d, want %d", a.at, now.at, want)
		}
		if a.call {
			calls++
		}
	}
	if len(before) != 4 || len(after) != 4 || calls != 1 || len(result.Methods) != 1 {
		t.Errorf("annotations %v, then %v", before, after)
	}
}

// annotated is where an annotation is: an offset, or else what a handler catches.
type annotated struct {
	at     int
	call   bool
	caught string
}

func annotations(t *testing.T, class *classfile.Class) []annotated {
	t.Helper()
	var list []annotated
	for i := range class.Methods {
		body, err := code.Lift(class, &class.Methods[i])
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range body.TypeAnnotations {
			if a.At == nil {
				name, err := class.Pool.ClassName(body.Handlers[a.Extra].Catch)
				if err != nil {
					t.Error(err)
				}
				list = append(list, annotated{at: -1, caught: string(name)})
				continue
			}
			n := a.At
			for n.Kind != code.Instruction {
				n = n.Next()
			}
			_, _, _, err := class.Pool.Member(n.Index())
			list = append(list, annotated{at: n.Offset(), call: err == nil})
		}
	}
	return list
}
