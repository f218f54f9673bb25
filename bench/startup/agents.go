package main

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// Agents are jars of those that are not Sonde's.
type agents struct {
	empty, null, asm string
	buddy            string // "" where it is not asked for
}

// makeAgents compiles them. ASM lies in its agent's own jar, as agents have it; the hooks
// are seen by classes of every loader.
func makeAgents(ctx context.Context, jdk jvmtest.JDK, folder string, isBuddyAsked bool, o options) (a agents, err error) {
	asm, err := find(o.jars, []string{"asm", "asm-commons"}, "libasm-java")
	if err != nil {
		return a, err
	}
	sources := filepath.Join(o.sources, "agents")
	classes := func(name string) string { return filepath.Join(folder, name) }
	for _, part := range []struct {
		name string
		path []string
	}{{"floor", nil}, {"hooks", nil}, {"asm", append(asm, classes("hooks"))}} {
		if err := compile(ctx, jdk, classes(part.name), filepath.Join(sources, part.name), part.path); err != nil {
			return a, err
		}
	}
	a = agents{empty: filepath.Join(folder, "empty.jar"), null: filepath.Join(folder, "null.jar"), asm: filepath.Join(folder, "asm.jar")}
	if isBuddyAsked {
		a.buddy = filepath.Join(folder, "buddy.jar")
		if err := makeBuddy(ctx, jdk, a.buddy, classes, o); err != nil {
			return a, err
		}
	}
	const canRetransform = "Can-Retransform-Classes: true\r\n"
	return a, errors.Join(
		writeJar(a.empty, "Premain-Class: EmptyAgent\r\n", classes("floor")),
		writeJar(a.null, "Premain-Class: NullAgent\r\n"+canRetransform, classes("floor")),
		writeJar(filepath.Join(folder, "asm-hooks.jar"), "", classes("hooks")),
		writeJar(a.asm, "Premain-Class: AsmAgent\r\n"+seesHooks, append([]string{classes("asm")}, asm...)...))
}

// seesHooks has the hooks beside an agent's jar be classes of the boot loader.
const seesHooks = "Boot-Class-Path: asm-hooks.jar\r\n"

// makeBuddy compiles the agent that weaves by Byte Buddy, with that in its jar.
func makeBuddy(ctx context.Context, jdk jvmtest.JDK, jar string, classes func(name string) string, o options) error {
	library, err := find(o.jars, []string{"byte-buddy"}, "libbyte-buddy-java")
	if err != nil {
		return err
	}
	sources := filepath.Join(o.sources, "agents", "buddy")
	if err := compile(ctx, jdk, classes("buddy"), sources, append(library, classes("hooks"))); err != nil {
		return err
	}
	return writeJar(jar, "Premain-Class: BuddyAgent\r\n"+seesHooks, append([]string{classes("buddy")}, library...)...)
}

// writeJar makes one of the classes in folders and jars.
func writeJar(path, attributes string, from ...string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	jar := zip.NewWriter(file)
	manifest, err := jar.Create("META-INF/MANIFEST.MF")
	if err != nil {
		return err
	}
	if _, err := io.WriteString(manifest, "Manifest-Version: 1.0\r\n"+attributes+"\r\n"); err != nil {
		return err
	}
	for _, source := range from {
		if err := addClasses(jar, source); err != nil {
			return fmt.Errorf("%s: %w", source, err)
		}
	}
	return errors.Join(jar.Close(), file.Close())
}

func addClasses(jar *zip.Writer, source string) error {
	tree := os.DirFS(source)
	if filepath.Ext(source) == ".jar" {
		archive, err := zip.OpenReader(source)
		if err != nil {
			return err
		}
		defer func() { _ = archive.Close() }()
		tree = archive
	}
	return fs.WalkDir(tree, ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".class") || path == "module-info.class" {
			return err
		}
		data, err := fs.ReadFile(tree, path)
		if err != nil {
			return err
		}
		entry, err := jar.Create(path)
		if err != nil {
			return err
		}
		_, err = entry.Write(data)
		return err
	})
}
