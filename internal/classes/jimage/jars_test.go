package jimage

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestJars(t *testing.T) {
	folder := t.TempDir()
	rt := filepath.Join(folder, "rt.jar")
	if OpenLibrary(rt) != nil {
		t.Error("a library without rt.jar")
	}
	writeJar(t, rt, "java/lang/String.class=string", "java/lang/Twice.class=first", "META-INF/MANIFEST.MF=x")
	writeJar(t, filepath.Join(folder, "jce.jar"), "javax/crypto/Cipher.class=cipher", "java/lang/Twice.class=second")
	writeJar(t, filepath.Join(folder, "other.jar"), "other/Other.class=other")
	im := OpenLibrary(rt)
	if got, want := strings.Join(im.Classes(), " "), "java/lang/String java/lang/Twice javax/crypto/Cipher"; got != want {
		t.Errorf("classes %q, want %q", got, want)
	}
	for class, want := range map[string]string{"java/lang/String": "string", "java/lang/Twice": "first", "javax/crypto/Cipher": "cipher", "other/Other": ""} {
		if got := string(im.Class(class)); got != want {
			t.Errorf("%s is %q, want %q", class, got, want)
		}
		if got := im.IsJDK(class); got != (want != "") || !im.Exports(class, "app/Main") {
			t.Errorf("%s: of the JDK %v; exported %v, want true", class, got, im.Exports(class, "app/Main"))
		}
	}
	if err := im.Close(); err != nil {
		t.Error(err)
	}
	if im.Class("java/lang/String") != nil {
		t.Error("a class of a closed library")
	}
}

func TestJarThatIsNone(t *testing.T) {
	folder := t.TempDir()
	writeJar(t, filepath.Join(folder, "rt.jar"), "java/lang/String.class=string")
	if err := os.WriteFile(filepath.Join(folder, "jsse.jar"), []byte("no jar"), 0o600); err != nil {
		t.Fatal(err)
	}
	if im := OpenLibrary(filepath.Join(folder, "rt.jar")); im != nil {
		t.Errorf("a library with a broken jar: %v", im.Classes())
	}
	if err := os.Remove(filepath.Join(folder, "jsse.jar")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "jce.jar"), 0o700); err != nil {
		t.Fatal(err)
	}
	if im := OpenLibrary(filepath.Join(folder, "rt.jar")); im != nil {
		t.Errorf("a library with a directory as jar: %v", im.Classes())
	}
}

// TestJarWithALargeDirectory: what the owner of a jar may put into it is not all read.
func TestJarWithALargeDirectory(t *testing.T) {
	const longest = 65000
	files := make([]string, maxDirectory/longest+1)
	for i := range files {
		files[i] = strings.Repeat("x", longest) + strconv.Itoa(i) + ".class="
	}
	rt := filepath.Join(t.TempDir(), "rt.jar")
	writeJar(t, rt, files...)
	if im := OpenLibrary(rt); im != nil {
		t.Errorf("%d classes were read", len(im.Classes()))
	}
}

// writeJar writes files given as NAME=CONTENT.
func writeJar(t *testing.T, path string, files ...string) {
	t.Helper()
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	jar := zip.NewWriter(out)
	for _, file := range files {
		name, content, _ := strings.Cut(file, "=")
		entry, err := jar.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := entry.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := jar.Close(); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// FuzzJars reads any bytes as a jar of the classes of JDK 8.
func FuzzJars(f *testing.F) {
	var jar bytes.Buffer
	w := zip.NewWriter(&jar)
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		entry, err := w.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("java/lang/A%d.class", method), Method: method})
		if err != nil {
			f.Fatal(err)
		}
		_, _ = entry.Write([]byte("class")) // to memory
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(jar.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		im := &Image{}
		if im.addEntries(bytes.NewReader(data), int64(len(data))) != nil {
			return
		}
		im.arrange()
		count := 0
		_ = im.Each(func(_, path string, _ []byte) error { // an error is no failure
			if count++; !strings.HasSuffix(path, ".class") {
				t.Errorf("an entry %q", path)
			}
			return nil
		})
		if count > len(data) {
			t.Errorf("%d classes in %d bytes", count, len(data))
		}
	})
}
