package jimage

import (
	"fmt"
	"path"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// TestInstalledJDKs reads the image of each JDK: every class must be one, and
// looking its name up must lead back to it.
func TestInstalledJDKs(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) { readWhole(t, jdk.Image()) })
	}
}

func readWhole(t *testing.T, image string) {
	im, err := Open(image)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := im.Close(); err != nil {
			t.Error(err)
		}
	}()
	classes := 0
	err = im.Each(func(module, name string, data []byte) error {
		again, err := im.Read(module + "/" + name)
		if err != nil || len(again) != len(data) {
			t.Errorf("%s/%s: %d bytes, then %d, %v", module, name, len(data), len(again), err)
		}
		if path.Ext(name) == ".class" {
			classes++
			if len(data) < 4 || string(data[:4]) != "\xca\xfe\xba\xbe" {
				t.Errorf("%s/%s is no class file", module, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if classes < 1000 {
		t.Errorf("only %d classes", classes)
	}
	t.Logf("%d classes", classes)
}
