package jimage

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// TestImageOfAJVM is read only where the user of the JVM could read it, and never blocks.
func TestImageOfAJVM(t *testing.T) {
	jvmtest.AsNobody(t) // or skip
	dir := jvmtest.PublicDirectory(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	image := build(t, binary.LittleEndian, sample)
	err := errors.Join(os.WriteFile(in("public"), image, 0o644), os.WriteFile(in("secret"), image, 0o600),
		os.Symlink(in("secret"), in("link")), syscall.Mkfifo(in("pipe"), 0o666))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"public8", "secret8"} {
		if err := os.Mkdir(in(folder), 0o755); err != nil {
			t.Fatal(err)
		}
		writeJar(t, in(folder+"/rt.jar"), "java/lang/String.class=string")
	}
	if err := os.Chmod(in("secret8/rt.jar"), 0o600); err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	for name, want := range map[string]bool{
		"public": true, "secret": false, "link": false, "pipe": false, "none": false, "public8/rt.jar": true, "secret8/rt.jar": false,
	} {
		im := OfJVM(&process.JVM{PID: os.Getpid(), UID: nobody, GID: nobody, Image: in(name)})
		if got := im.Has("java/lang/String"); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
		_ = im.Close()
	}
}
