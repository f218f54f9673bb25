package dump_test

import (
	"bytes"
	"hash/fnv"
	"os"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/dump"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// TestCorpusDump demands that nothing in the JDKs' classes is beyond the dump: no
// reason why something is not shown stands in any of them. SONDE_CORPUS=full takes
// all classes, otherwise one in 200; those are also compared with themselves.
func TestCorpusDump(t *testing.T) {
	full := os.Getenv("SONDE_CORPUS") == "full"
	jdks := jvmtest.Installed()
	if len(jdks) == 0 {
		t.Skip("no JDK is installed: no real classes were dumped")
	}
	classes := 0
	for _, jdk := range jdks {
		image, err := jimage.Open(jdk.Image())
		if err != nil {
			t.Fatalf("JDK %s: %v", jdk.Version, err)
		}
		err = image.Each(func(module, path string, data []byte) error {
			if !strings.HasSuffix(path, ".class") {
				return nil
			}
			h := fnv.New32a()
			_, _ = h.Write([]byte(path)) // never fails
			chosen := h.Sum32()%200 == 0
			if full || chosen {
				classes++
				checkDump(t, module+"/"+path, data, chosen)
			}
			return nil
		})
		if err != nil {
			t.Errorf("JDK %s: %v", jdk.Version, err)
		}
		if err := image.Close(); err != nil {
			t.Errorf("JDK %s: %v", jdk.Version, err)
		}
	}
	t.Logf("%d classes", classes)
	if classes < 100 {
		t.Errorf("only %d classes were dumped", classes)
	}
}

func checkDump(t *testing.T, name string, data []byte, compare bool) {
	c, err := classfile.Parse(data)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	var out bytes.Buffer
	if err := dump.Class(&out, c, dump.Options{}); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	for line := range strings.Lines(out.String()) {
		for _, reason := range []string{" at offset ", "<constant pool index", "<no such", "<bootstrap method", "frame same", "frame append", "frame chop"} {
			if strings.Contains(line, reason) && !strings.Contains(line, `"`) {
				t.Errorf("%s: %s", name, strings.TrimSpace(line))
			}
		}
	}
	if !compare {
		return
	}
	if changed, err := dump.Diff(&out, c, c, dump.Options{}); err != nil || changed {
		t.Errorf("%s: differs from itself: %v", name, err)
	}
}
