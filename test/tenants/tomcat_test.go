package tenants

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// jarFolder is where Debian keeps jars.
const jarFolder = "/usr/share/java"

// quickly has a JVM compile fast rather than well: these live for seconds.
const quickly = "-XX:TieredStopAtLevel=1"

// tomcatJars are what a Tomcat 10 needs without pages of JSP, and the database.
var tomcatJars = []string{
	"tomcat10-catalina", "tomcat10-coyote", "tomcat10-util", "tomcat10-util-scan", "tomcat10-juli", "tomcat10-api", "tomcat10-servlet-api",
	"tomcat10-jsp-api", "tomcat10-el-api", "tomcat10-annotations-api", "tomcat10-jni", "tomcat10-jaspic-api", "h2",
}

// A tomcat is one with the application of testdata, running.
type tomcat struct {
	*jvmtest.Running
	url string
}

func startTomcat(t *testing.T, jdk jvmtest.JDK) tomcat {
	t.Helper()
	var jars []string
	for _, name := range tomcatJars {
		jar := filepath.Join(jarFolder, name+".jar")
		if _, err := os.Stat(jar); err != nil {
			t.Skipf("NOT TESTED: %s is missing: install the Debian packages libtomcat10-java and libh2-java", jar)
		}
		jars = append(jars, jar)
	}
	flags := []string{"--release", "17"}
	server := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/server/Server.java"}, Classpath: jars, Flags: flags})
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: javaFiles(t, "testdata/src"), Classpath: jars, Flags: flags})
	application, err := filepath.Abs("testdata/webapp")
	if err != nil {
		t.Fatal(err)
	}
	path := strings.Join(append([]string{server}, jars...), string(os.PathListSeparator))
	// Tomcat keeps its files where it runs.
	running := jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{quickly, "-cp", path, "Server", application, classes}, Dir: t.TempDir()})
	return tomcat{running, listening(t, running)}
}

// listening is where a program said that it is.
func listening(t *testing.T, r *jvmtest.Running) string {
	t.Helper()
	for line := range strings.Lines(r.Stdout()) {
		if url, ok := strings.CutPrefix(line, "listening "); ok {
			return strings.TrimSpace(url)
		}
	}
	t.Fatalf("it is ready and did not say where: %q", r.Stdout())
	return ""
}

func javaFiles(t *testing.T, folder string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".java" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A visit is a request, by the application's own account. The time of the method that
// is traced lies between the two that it measured.
type visit struct {
	tenant, service string
	within, around  int64
}

// visits are those that the application has told of, by number.
func (s tomcat) visits(t *testing.T) map[int]visit {
	t.Helper()
	told := make(map[int]visit)
	for line := range strings.Lines(s.Stdout()) {
		var number int
		var v visit
		if !strings.HasPrefix(line, "answered ") {
			continue
		}
		if _, err := fmt.Sscanf(line, "answered %d %s %s %d %d", &number, &v.tenant, &v.service, &v.within, &v.around); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		told[number] = v
	}
	return told
}
