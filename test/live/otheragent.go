package live

import (
	"archive/zip"
	"os"
	"path/filepath"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

const otherManifest = `Manifest-Version: 1.0
Premain-Class: otheragent.OtherAgent
Agent-Class: otheragent.OtherAgent
Can-Retransform-Classes: true
Can-Redefine-Classes: true

`

// OtherAgent builds somebody else's agent and returns its jar. It takes orders,
// separated by ";", in its argument, at start ("-javaagent:jar=orders") or by
// Order:
//
//	change CLASS FROM TO        change a text or number, at every retransformation too
//	change-once CLASS FROM TO   change it where the class is loaded or redefined only
//	retransform CLASS           now
//	forget                      take the transformers out, and change nothing
func OtherAgent(t testing.TB, jdk jvmtest.JDK) string {
	t.Helper()
	return agentJar(t, jdk, "otheragent", otherManifest)
}

const emptyManifest = `Manifest-Version: 1.0
Agent-Class: emptyagent.EmptyAgent
Can-Retransform-Classes: true

`

// EmptyAgent builds an agent that does nothing, for Order, and returns its jar:
// what a JVM keeps of that one it keeps of any.
func EmptyAgent(t testing.TB, jdk jvmtest.JDK) string {
	t.Helper()
	return agentJar(t, jdk, "emptyagent", emptyManifest)
}

func agentJar(t testing.TB, jdk jvmtest.JDK, name, manifest string) string {
	t.Helper()
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{
		Sources: javaFiles(t, name), Flags: []string{"--release", "17"},
	})
	path := filepath.Join(openDirectory(t), name+".jar")
	if err := writeJar(path, manifest, classes); err != nil {
		t.Fatal(err)
	}
	return path
}

// Order attaches the other agent, or reaches the one that is there, with orders.
func (p *Program) Order(jar, orders string) {
	p.t.Helper()
	conn, err := attach.Open(p.t.Context(), p.PID)
	if err != nil {
		p.t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.LoadAgent(p.t.Context(), jar, orders); err != nil {
		p.t.Fatalf("%v\nstderr: %s", err, p.Stderr())
	}
}

func writeJar(path, manifest, classes string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	archive := zip.NewWriter(file)
	entry, err := archive.Create("META-INF/MANIFEST.MF")
	if err != nil {
		return err
	}
	if _, err := entry.Write([]byte(manifest)); err != nil {
		return err
	}
	if err := archive.AddFS(os.DirFS(classes)); err != nil {
		return err
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return file.Close()
}
