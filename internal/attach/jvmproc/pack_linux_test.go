package jvmproc

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestParsePackNotice(t *testing.T) {
	for text, want := range map[string]Pack{
		"/tmp/a.arena\n/x/a b.pack\n": {Arena: "/tmp/a.arena", Path: "/x/a b.pack"},
		"/tmp/a.arena\n/x/a b.pack":   {Arena: "/tmp/a.arena", Path: "/x/a b.pack"},
		"\n/x/a.pack\nit is gone\n":   {Path: "/x/a.pack", Problem: "it is gone"},
		"\n\nan argument\n":           {Problem: "an argument"},
		"\n/x/a.pack\n":               {Path: "/x/a.pack", Problem: "why is not known"},
	} {
		if got, ok := ParsePackNotice([]byte(text)); !ok || got != want {
			t.Errorf("%q: %+v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "\n", "/tmp/a.arena\n"} {
		if got, ok := ParsePackNotice([]byte(text)); ok {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// TestWhatIsMapped finds a file of any name in memory that is shared.
func TestWhatIsMapped(t *testing.T) {
	name := filepath.Join(t.TempDir(), "of any name")
	if err := os.WriteFile(name, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if Local.isMapped(os.Getpid(), "of any name") {
		t.Error("it is mapped before")
	}
	mapped, err := syscall.Mmap(int(file.Fd()), 0, 4096, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	if !Local.isMapped(os.Getpid(), "of any name") {
		t.Error("it is not found")
	}
	if err := syscall.Munmap(mapped); err != nil {
		t.Fatal(err)
	}
	if Local.isMapped(os.Getpid(), "of any name") {
		t.Error("it is still there")
	}
}
