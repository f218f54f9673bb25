package matrix

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A wovenJDK is a JDK whose classes are all woven, beside the original.
type wovenJDK struct {
	jvmtest.JDK
	hook  string   // directory of the hook class
	flags []string // of java, that put the woven classes in the originals' place
}

// TestModules boots JVMs from nothing but woven classes, has every class of
// every module verified, and lets javac and H2 run there.
func TestModules(t *testing.T) {
	needMatrix(t)
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			modules, classes := moduleClasses(t, jdk)
			list := writeList(t, classes)
			main := []string{"-cp", harness(t, jdk), "LinkModules", list}
			plain := link(t, jdk, append(commonFlags(modules), main...)...)

			hook, templates := hookTemplates(t, jdk)
			for _, choice := range templates {
				t.Run(choice.name, func(t *testing.T) {
					woven := weaveJDK(t, jdk, hook, modules, choice)
					t.Run("link", func(t *testing.T) {
						link(t, jdk, append(slices.Clone(woven.flags), main...)...).compare(t, plain)
					})
					t.Run("javac", woven.testJavac)
					t.Run("h2", func(t *testing.T) { woven.testH2(t, choice) })
				})
			}
		})
	}
}

// moduleClasses lists the modules of a JDK and, as lines for the harness, its
// classes.
func moduleClasses(t *testing.T, jdk jvmtest.JDK) (modules, classes []string) {
	t.Helper()
	eachClass(t, jdk, func(module, path string, _ []byte) error {
		if len(modules) == 0 || modules[len(modules)-1] != module {
			modules = append(modules, module)
		}
		name := strings.ReplaceAll(strings.TrimSuffix(path, ".class"), "/", ".")
		classes = append(classes, module+"\t"+name)
		return nil
	})
	return modules, classes
}

// eachClass visits the classes of a JDK. A module's own description has no
// code, and a patch may not hold one.
func eachClass(t *testing.T, jdk jvmtest.JDK, visit func(module, path string, data []byte) error) {
	t.Helper()
	image, err := jimage.Open(jdk.Image())
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	err = image.Each(func(module, path string, data []byte) error {
		if module == "" || !strings.HasSuffix(path, ".class") || path == "module-info.class" {
			return nil
		}
		return visit(module, path, data)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// hookTemplates compiles the hook class, a member of java.lang, and the
// templates that call it.
func hookTemplates(t *testing.T, jdk jvmtest.JDK) (hook string, choices []weaving) {
	t.Helper()
	hook = jvmtest.Compile(t, jdk, jvmtest.Fixture{
		Sources: []string{"java/java/lang/SondeHook.java"},
		Flags:   []string{"--patch-module", "java.base=java"},
	})
	templates := jvmtest.Compile(t, jdk, jvmtest.Fixture{
		Sources:   []string{"java/HookProbe.java", "java/HookRich.java"},
		Classpath: []string{writeRuntime(t)},
		Flags:     []string{"--patch-module", "java.base=" + hook},
	})
	probe := compileTemplate(t, templates, "HookProbe", "probe")
	rich := compileTemplate(t, templates, "HookRich", "rich")
	return hook, weavings(probe, rich)
}

// weaveJDK weaves all classes into one directory per module.
func weaveJDK(t *testing.T, jdk jvmtest.JDK, hook string, modules []string, choice weaving) wovenJDK {
	t.Helper()
	dir := t.TempDir()
	total := weaveAll(t, choice, func(send func(class)) error {
		eachClass(t, jdk, func(module, path string, data []byte) error {
			send(class{module + "/" + path, bytes.Clone(data), func(woven []byte) error {
				return writeFile(filepath.Join(dir, module, filepath.FromSlash(path)), woven)
			}, func() {}})
			return nil
		})
		return nil
	})
	total.report(t)

	flags := commonFlags(modules)
	for _, module := range modules {
		patch := filepath.Join(dir, module)
		if module == "java.base" {
			patch = hook + string(os.PathListSeparator) + patch
		}
		flags = append(flags, "--patch-module", module+"="+patch)
	}
	return wovenJDK{jdk, hook, flags}
}

// commonFlags are those of woven and unwoven runs alike: all modules there, all
// classes verified.
func commonFlags(modules []string) []string {
	resolve := []string{"ALL-SYSTEM"}
	for _, module := range modules {
		if strings.HasPrefix(module, "jdk.incubator.") {
			resolve = append(resolve, module)
		}
	}
	return []string{"-Xverify:all", "-Xshare:off", "-Xmx2g", "--add-modules", strings.Join(resolve, ",")}
}

func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
