package instrument

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
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
		found[string(name)+string(descriptor)] = countIsLowerBound(class, &class.Methods[i])
	}
	return found
}
