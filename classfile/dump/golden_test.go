package dump_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/dump"
)

var update = flag.Bool("update", false, "write the goldens anew; read the difference before you commit it")

// TestGoldens dumps classes of the zoo.
func TestGoldens(t *testing.T) {
	for _, name := range []string{
		"8/Lambdas8", "8/Resources", "17/Annotated", "17/Annotated$All", "17/Arithmetic", "17/Concat",
		"17/Constructors", "17/Finally", "17/Interfaces", "17/Nested$1", "17/Records", "17/Sealed",
		"17/Switches", "17/TypeUse", "17/module/module-info", "25/PatternSwitch",
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := dump.Class(&out, zoo(t, name), dump.Options{}); err != nil {
				t.Fatal(err)
			}
			golden(t, strings.ReplaceAll(name, "/", "-")+".txt", out.Bytes())
		})
	}
}

func TestOffsetsAndPickedMethods(t *testing.T) {
	var out bytes.Buffer
	err := dump.Class(&out, zoo(t, "17/Finally"), dump.Options{
		Offsets:  true,
		NoHeader: true,
		Method:   func(name, desc string) bool { return name == "<init>" && desc == "()V" },
	})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "offsets.txt", out.Bytes())
}

func TestMethodIsThePartOfTheClass(t *testing.T) {
	c := zoo(t, "17/Switches")
	var whole, parts bytes.Buffer
	if err := dump.Class(&whole, c, dump.Options{NoHeader: true}); err != nil {
		t.Fatal(err)
	}
	for i := range c.Methods {
		parts.WriteByte('\n')
		if err := dump.Method(&parts, c, &c.Methods[i], dump.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.HasSuffix("\n"+whole.String(), parts.String()) {
		t.Error("methods dumped one by one are not what the class shows of them")
	}
}

// zoo reads a class that other packages test with too.
func zoo(t testing.TB, name string) *classfile.Class {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", "zoo", filepath.FromSlash(name)+".class"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := classfile.Parse(data)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return c
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	gotLines, wantLines := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := 0; ; i++ {
		if i >= len(gotLines) || i >= len(wantLines) || gotLines[i] != wantLines[i] {
			t.Fatalf("%s, line %d (-update writes it anew):\n got %s\nwant %s", path, i+1,
				strings.Join(gotLines[i:min(i+1, len(gotLines))], ""), strings.Join(wantLines[i:min(i+1, len(wantLines))], ""))
		}
	}
}
