package classtest_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile/classtest"
)

// sample is a class that loads a text; the pool begins with so many entries
// that nothing uses.
func sample(unused int, text string) []byte {
	b := classtest.NewBuilder(52, "Sample")
	for i := range unused {
		b.Integer(int32(i))
	}
	load := classtest.NewAssembler().Jump("goto", "on").Label("on")
	if index := b.String(text); index < 256 {
		load.Op("ldc", uint8(index))
	} else {
		load.Op("ldc_w", index)
	}
	load.Op("areturn")
	frame := b.Attribute("StackMapTable", classtest.Counted([]byte{3}))
	b.AddMethod(0x9, "text", "()Ljava/lang/String;", load.Code(b, 1, 0, frame))
	return b.Bytes()
}

func TestEqualIgnoresPoolLayout(t *testing.T) {
	if err := classtest.Equal(sample(0, "a"), sample(400, "a")); err != nil {
		t.Error(err)
	}
}

func TestEqualFindsDifference(t *testing.T) {
	err := classtest.Equal(sample(0, "a"), sample(0, "b"))
	if err == nil {
		t.Fatal("classes with other constants are called equal")
	}
	for _, part := range []string{`- `, `"a"`, `+ `, `"b"`, `method 0009 "text"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the difference does not show %s:\n%v", part, err)
		}
	}
}

func TestEqualRefusesMalformed(t *testing.T) {
	var malformed *classtest.MalformedError
	if err := classtest.Equal(sample(0, "a"), sample(0, "a")[:50]); !errors.As(err, &malformed) {
		t.Errorf("got %v, want a *MalformedError", err)
	}
}

// FuzzDescribe: a text or a *MalformedError, never a panic.
func FuzzDescribe(f *testing.F) {
	for _, pattern := range []string{"../testdata/zoo/*/*.class", "../testdata/invalid/*.class"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			if len(data) < 8<<10 { // long ones only slow the search down
				f.Add(data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := classtest.Describe(data)
		var malformed *classtest.MalformedError
		switch {
		case err != nil && !errors.As(err, &malformed):
			t.Errorf("%T is no *MalformedError: %v", err, err)
		case err == nil && text == "":
			t.Error("neither a text nor an error")
		}
	})
}
