package pack

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// A wovenClass is a real one, before and after.
type wovenClass struct {
	name            string
	original, woven []byte
	result          *weave.Result
}

// entry is how a pack has it.
func (w *wovenClass) entry() Class {
	return Class{Original: w.original, Entry: cache.NewEntry(cache.Weaving{
		Class: w.name, Original: cache.OriginalOf(w.original), Result: w.result,
	})}
}

// h2 is a program that is installed where tests of whole programs run.
const h2 = "/usr/share/java/h2.jar"

// weaveJar puts a spot of its own into every method of one class in some of a jar.
func weaveJar(t testing.TB, jar string, oneIn int) (classes []wovenClass) {
	t.Helper()
	files, err := zip.OpenReader(jar)
	if os.IsNotExist(err) {
		t.Skip("NOT TESTED: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	seen := 0
	for _, file := range files.File {
		if !strings.HasSuffix(file.Name, ".class") || strings.HasSuffix(file.Name, "-info.class") {
			continue
		}
		if seen++; seen%oneIn != 0 {
			continue
		}
		from, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		class, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		if one, ok := weaveClass(t, class); ok {
			classes = append(classes, one)
		}
	}
	return classes
}

// weaveClass puts a spot into every method of a class that can have one.
func weaveClass(t testing.TB, class []byte) (woven wovenClass, ok bool) {
	t.Helper()
	template, err := weave.CompileTemplate(agent.WatchTemplate())
	if err != nil {
		t.Fatal(err)
	}
	if template, err = template.Bind(nil); err != nil {
		t.Fatal(err)
	}
	result, err := weave.NewWeaver().Weave(class, func(m weave.MethodInfo) []*weave.Template {
		woven.name = strings.Clone(m.Class)
		if !m.HasCode || m.Name == "<clinit>" {
			return nil
		}
		return []*weave.Template{template.As(weave.MethodID(m.Class, m.Name, m.Descriptor+fmt.Sprint(len(class))))}
	})
	if err != nil || result.Bytes == nil {
		return wovenClass{}, false
	}
	woven.original, woven.woven, woven.result = class, bytes.Clone(result.Bytes), result
	woven.result.Bytes = woven.woven // the weaver keeps its own
	return woven, true
}
