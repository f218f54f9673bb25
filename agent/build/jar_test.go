package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

func TestCommittedFilesAreWhatTheSourcesGive(t *testing.T) {
	built, err := products(jvmtest.Need(t, compilerMajor).Tool("java"), "..")
	if err != nil {
		t.Fatal(err)
	}
	for name, rebuilt := range built {
		committed, err := os.ReadFile(filepath.Join("..", "dist", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(rebuilt, committed) {
			t.Errorf("agent/dist/%s (%d bytes) differs from what the sources give (%d bytes): run go run ./agent/build",
				name, len(committed), len(rebuilt))
		}
	}
}

func TestHooksAreNamedByTheirSources(t *testing.T) {
	source := folder{"java/lang/SondeHooks.java": []byte("class SondeHooks { SondeHooksTree tree; }")}
	to := hookRename(source)
	if again := hookRename(folder{"java/lang/SondeHooks.java": []byte("class SondeHooks {}")}); again == to {
		t.Errorf("other sources have the same name %s", to)
	}
	renamed := rename(source, to)
	if got := string(renamed["java/lang/"+to+".java"]); got != "class "+to+" { "+to+"Tree tree; }" {
		t.Errorf("renamed to %q", got)
	}
}

func TestHookIndexRefusesOtherClasses(t *testing.T) {
	main := "SondeHooks_0"
	index, err := hookIndex(folder{"java/lang/SondeHooks_0Tree.class": nil, "java/lang/SondeHooks_0.class": nil}, main)
	if want := "java/lang/SondeHooks_0\njava/lang/SondeHooks_0Tree\n"; err != nil || string(index) != want {
		t.Errorf("got %q, %v", index, err)
	}
	if _, err := hookIndex(folder{"java/lang/Other.class": nil, "java/lang/SondeHooks_0.class": nil}, main); err == nil {
		t.Error("a class that could meet another build's was let in")
	}
	if _, err := hookIndex(folder{}, main); err == nil {
		t.Error("no main class, and no error")
	}
}
