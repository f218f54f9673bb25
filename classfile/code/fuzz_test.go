package code_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
)

// seeds adds the zoo and the broken classes, short ones.
func seeds(f *testing.F) {
	f.Helper()
	err := filepath.WalkDir("../testdata", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".class") {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && len(data) < 8<<10 {
			f.Add(data)
		}
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
}

// FuzzLift: each body of a class lifts, and lowers to the bytes it was, or gives a
// FormatError.
func FuzzLift(f *testing.F) {
	seeds(f)
	var lifter code.Lifter
	f.Fuzz(func(t *testing.T, data []byte) {
		class, err := classfile.Parse(data)
		if err != nil {
			return
		}
		for i := range class.Methods {
			a := class.Find(class.Methods[i].Attributes, classfile.KindCode)
			if a == nil {
				continue
			}
			body, err := lifter.LiftCode(class, a.Data)
			if err != nil {
				var format *classfile.FormatError
				var pool *classfile.PoolError
				if !errors.As(err, &format) && !errors.As(err, &pool) {
					t.Fatalf("error is a %T: %v", err, err)
				}
				continue
			}
			if nodes := body.Len(); nodes > 10*len(a.Data)+10 {
				t.Fatalf("%d bytes lifted to %d nodes", len(a.Data), nodes)
			}
			out, err := body.Append(nil)
			if err != nil {
				t.Fatalf("what was lifted does not lower: %v", err)
			}
			if !bytes.Equal(out, a.Data) {
				t.Fatalf("method %d lowered to other bytes\n was % x\n now % x", i, a.Data, out)
			}
			checkOffsets(t, body)
		}
	})
}
