package instrument

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// Methods of the JDK's own Math say by an annotation which of them HotSpot may replace. Before
// 16 that had another name.
func TestIntrinsicCandidatesAreFound(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			image, err := jimage.Open(jdk.Image())
			if err != nil {
				t.Fatal(err)
			}
			defer image.Close()
			file, err := image.Read("/java.base/java/lang/Math.class")
			if err != nil {
				t.Fatal(err)
			}
			utf8 := func(text string) []byte {
				return append(binary.BigEndian.AppendUint16(nil, uint16(len(text))), text...)
			}
			now, before := utf8(intrinsicCandidates[0]), utf8(intrinsicCandidates[1])
			for _, name := range [][]byte{now, before, utf8("Lother;")} {
				isKnown := !bytes.Equal(name, utf8("Lother;"))
				want := map[string]bool{"max(II)I": isKnown, "sqrt(D)D": isKnown, "toRadians(D)D": false, "<clinit>()V": false}
				found := candidatesIn(t, bytes.ReplaceAll(file, now, name))
				for member, is := range want {
					if got, known := found[member]; !known || got != is {
						t.Errorf("with %s, %s is a candidate: %v, want %v", name[2:], member, got, is)
					}
				}
			}
		})
	}
}

// HotSpot replaces only methods with the annotation: it reports a method that it has an intrinsic for and that
// has none, when the class loads. All methods with the annotation are known.
func TestAllIntrinsicsAreKnown(t *testing.T) {
	const unmarked = "Compiler intrinsic is defined for method"
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			image, err := jimage.Open(jdk.Image())
			if err != nil {
				t.Fatal(err)
			}
			defer image.Close()
			classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/Annotated.java"}})
			// Classes from the archive of shared classes are not checked.
			out := jvmtest.RunBriefly(t, jdk, "-Xshare:off", "-XX:+UnlockDiagnosticVMOptions", "-XX:+CheckIntrinsics", "-cp", classes, "Annotated").Stdout
			want := make(map[string]bool)
			for line := range strings.Lines(out) {
				name, is := strings.CutPrefix(strings.TrimSpace(line), "annotated ")
				want[name] = is
				if strings.Contains(line, unmarked) {
					t.Errorf("the mark would be missing: %s", line)
				}
			}
			got := 0
			for _, class := range image.Classes() {
				if image.Module(class) != "java.base" {
					continue
				}
				for member, is := range candidatesIn(t, image.Class(class)) {
					if is {
						got++
					}
					if name := class + "." + member; is != want[name] {
						t.Errorf("%s may be replaced: %v, want %v", name, is, want[name])
					}
				}
			}
			if least := 300; got < least {
				t.Errorf("%d methods may be replaced, want %d at least", got, least)
			}
		})
	}
}

// JDK 8 has no annotations.
func TestIntrinsicsOf8(t *testing.T) {
	b := classtest.NewBuilder(52, "java/lang/Math")
	for _, member := range []string{"max(II)I", "max(JJ)J"} {
		name, descriptor, _ := strings.Cut(member, "(")
		b.AddMethod(uint16(classfile.AccStatic|classfile.AccNative), name, "("+descriptor)
	}
	if got, want := candidatesIn(t, b.Bytes()), map[string]bool{"max(II)I": true, "max(JJ)J": false}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func candidatesIn(t *testing.T, file []byte) map[string]bool {
	t.Helper()
	class, err := classfile.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]bool)
	for i := range class.Methods {
		name, descriptor, err := class.MemberName(&class.Methods[i])
		if err != nil {
			t.Fatal(err)
		}
		found[string(name)+string(descriptor)] = isIntrinsic(class, &class.Methods[i])
	}
	return found
}
