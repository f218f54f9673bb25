package jvmtest

import (
	"os"
	"path/filepath"
	"testing"
)

// waiting is a program that says it is ready, repeats each line it reads, and
// ends with its input.
const waiting = `public class Waiting {
    public static void main(String[] args) throws Exception {
        java.io.BufferedReader in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println("read " + line);
        }
    }
}
`

// Waiting is the main class of a program that waits: it says that it is ready,
// repeats each line it reads after "read ", and ends with its input. The
// directory of its classes may be read by every user, also with a /tmp of its
// own.
func Waiting(t testing.TB, jdk JDK) (classpath, mainClass string) {
	t.Helper()
	source := filepath.Join(t.TempDir(), "Waiting.java")
	if err := os.WriteFile(source, []byte(waiting), 0o644); err != nil {
		t.Fatal(err)
	}
	compiled := Compile(t, jdk, Fixture{Sources: []string{source}, Flags: []string{"--release", "8"}})
	public := PublicDirectory(t)
	if err := os.CopyFS(public, os.DirFS(compiled)); err != nil {
		t.Fatal(err)
	}
	return public, "Waiting"
}
