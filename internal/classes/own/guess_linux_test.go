package own

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// place writes files, or jars with the entries that follow a colon: "app.jar: a/B.class", where
// "name=text" has a content.
func place(t *testing.T, files ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, file := range files {
		name, entries, isJar := strings.Cut(file, ": ")
		full := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		out, err := os.Create(full)
		if err != nil {
			t.Fatal(err)
		}
		if class, is := strings.CutSuffix(name, ".class"); is {
			_, inFolder, found := strings.Cut(class, "classes/")
			if !found {
				inFolder = class
			}
			if _, err := out.Write(classNamed(inFolder)); err != nil {
				t.Fatal(err)
			}
		}
		if isJar {
			z := zip.NewWriter(out)
			for entry := range strings.FieldsSeq(entries) {
				name, text, _ := strings.Cut(entry, "=")
				w, err := z.Create(name)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := w.Write([]byte(strings.ReplaceAll(text, "|", "\n") + "\n")); err != nil {
					t.Fatal(err)
				}
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// classNamed returns a class file without members.
func classNamed(name string) []byte {
	file := []byte("\xca\xfe\xba\xbe\x00\x00\x00\x34\x00\x05")
	for i, text := range []string{name, "java/lang/Object"} {
		file = append(file, 1, 0, byte(len(text)))
		file = append(append(file, text...), 7, 0, byte(2*i+1))
	}
	return append(file, "\x00\x21\x00\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00"...)
}

func TestGuess(t *testing.T) {
	const manifest = "META-INF/MANIFEST.MF="
	for name, tt := range map[string]struct {
		files     []string
		main      string
		classPath string // names below the folder of the files
		want      string
	}{
		"a folder": {
			files: []string{"classes/shop/Main.class", "classes/shop/web/Page.class", "classes/load/Main.class", "lib/h2.jar: org/h2/Driver.class"},
			main:  "shop.Main", classPath: "classes:lib/h2.jar", want: "load, shop (from folders on the class path",
		},
		"the unnamed package": {files: []string{"Plain.class", "notes.txt", "other/classes/com/other/X.class"}, main: "Plain", classPath: ".", want: "the unnamed package (from folders on the class path"},
		"a jar": {
			files: []string{"app.jar: com/acme/Main.class com/acme/web/Page.class com/acmelib/X.class " + manifest + "Main-Class:com.acme.Main"},
			main:  "app.jar", classPath: "app.jar", want: "com.acme, com.acmelib (from the main jar",
		},
		"a jar with libraries unpacked in it": {
			files: []string{"app.jar: com/acme/Main.class org/joda/time/X.class com/other/X.class META-INF/maven/com.acme/app/pom.properties META-INF/maven/com.other/o/pom.properties " + manifest + "Main-Class:com.acme.Main"},
			main:  "app.jar", classPath: "app.jar", want: "com.acme (from the main jar",
		},
		"Spring Boot": {
			files: []string{"app.jar: org/springframework/boot/loader/JarLauncher.class BOOT-INF/classes/com/acme/App.class BOOT-INF/lib/x.jar " + manifest + "Main-Class:org.springframework.boot.loader.JarLauncher|Start-Class:com.acme.App"},
			main:  "app.jar", classPath: "app.jar", want: "com.acme (from the main jar",
		},
		"jars of one group": {
			files: []string{
				"lib/app.jar: com/acme/Main.class META-INF/maven/com.acme/app/pom.properties", "lib/core.jar: net/acme/core/X.class META-INF/maven/com.acme/core/pom.properties",
				"lib/other.jar: com/other/X.class META-INF/maven/com.other/other/pom.properties", "lib/unknown.jar: com/unknown/X.class",
			},
			main: "com.acme.Main", classPath: "lib/*", want: "com.acme, net.acme (from the main jar and jars of the same group",
		},
		"the class path of a manifest": {
			files: []string{"run.jar: " + manifest + "Main-Class:org.apache.maven.surefire.booter.ForkedBooter|Class-Path:target/classes/", "target/classes/com/acme/X.class"},
			main:  "run.jar", classPath: "run.jar", want: "com.acme (from folders on the class path",
		},
		"the main class alone":        {main: "org.apache.lucene.demo.Search", want: "org.apache.lucene (from the main class"},
		"a program that is a library": {files: []string{"h2.jar: org/h2/tools/Server.class"}, main: "org.h2.tools.Server", classPath: "h2.jar", want: "org.h2 (from the main jar"},
		"nothing known":               {main: "org.apache.catalina.startup.Bootstrap", want: "all that are not of a known library (from a list of libraries"},
		"a jar that is none":          {files: []string{"app.jar"}, main: "app.jar", classPath: "app.jar", want: "all that are not of a known library"},
		"files that are not there":    {main: "com.acme.Main", classPath: "none.jar:nowhere", want: "com.acme (from the main class"},
	} {
		dir := place(t, tt.files...)
		j := &process.JVM{PID: os.Getpid(), UID: uint32(os.Geteuid()), Main: tt.main}
		if isJar(tt.main) {
			j.Main = filepath.Join(dir, tt.main)
		}
		for entry := range strings.SplitSeq(tt.classPath, ":") {
			if entry != "" {
				j.ClassPath = append(j.ClassPath, filepath.Join(dir, entry))
			}
		}
		if got, want := Guess(j).String(), "own packages: "+tt.want; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestWebApps(t *testing.T) {
	dir := place(t, "webapps/shop/WEB-INF/classes/com/acme/Page.class", "webapps/shop/WEB-INF/lib/a.jar", "webapps/docs/index.html", "webapps/x.war")
	g := &guess{reader: newReader(&process.JVM{PID: os.Getpid()}), packages: make(map[string]bool)}
	g.addWebApps(filepath.Join(dir, "webapps"))
	if got, want := g.result().String(), "own packages: com.acme (from the web applications; --own changes it)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
