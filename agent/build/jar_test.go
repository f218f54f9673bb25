package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

func TestCommittedJarIsWhatTheSourcesGive(t *testing.T) {
	javac := jvmtest.Need(t, compilerMajor).Tool("javac")
	rebuilt, err := buildJar(javac, "..")
	if err != nil {
		t.Fatal(err)
	}
	committed, err := os.ReadFile(jarPath(".."))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(rebuilt, committed) {
		t.Errorf("%s (%d bytes) differs from what agent/src gives (%d bytes): run go run ./agent/build",
			jarPath("agent"), len(committed), len(rebuilt))
	}
}
