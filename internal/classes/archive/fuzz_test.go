package archive

import (
	"archive/zip"
	"bytes"
	"context"
	"testing"
)

// FuzzJar holds that rewriting any bytes taken for a jar ends in an error or
// in a jar with the same entries, and never in a panic.
func FuzzJar(f *testing.F) {
	inner := jar(f, class("j/J.class", "weave"))
	f.Add(jar(f, class("a/A.class", "weave"), stored("in.jar", inner), member{"d/", "", zip.Store}))
	f.Add(append([]byte("#!/bin/sh\n"), inner...))
	f.Add(jar(f, class("META-INF/A.SF", ""), class("META-INF/A.RSA", ""), class("META-INF/MANIFEST.MF", "A: b\n\nName: x\nX-Digest: y\n"), class("a.class", "weave")))
	f.Fuzz(func(t *testing.T, data []byte) {
		o := options()
		o.Jobs, o.StripSignatures = 1, true
		w := &rewriter{ctx: context.Background(), options: o, pool: newPool(o), unpack: newUnpacker(0)}
		w.unpack.left.Store(16 << 20)
		defer w.pool.close()
		result := w.nestedBytes(data, "in.jar", "", 0)
		if result.err != nil || !result.changed {
			return
		}
		before, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		after, err := zip.NewReader(bytes.NewReader(result.data), int64(len(result.data)))
		if err != nil {
			t.Fatalf("the output is no jar: %v", err)
		}
		if len(w.report.Stripped) == 0 && names(after) != names(before) {
			t.Errorf("entries %s, were %s", names(after), names(before))
		}
	})
}
