package weave_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// siteModules are those of a JDK of which some classes have every call wrapped; they
// can be replaced in a JVM without its noticing before they are used.
var siteModules = map[string]int{"java.xml": 8, "jdk.compiler": 6, "java.desktop": 40}

// TestSitesCorpus wraps every call of some hundred classes of each JDK, and has the
// JVM verify them.
func TestSitesCorpus(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			j := compileSites(t, jdk, "8")
			w, probe := j.weaver(t, "site"), j.pick(t, "probe")
			root := t.TempDir()
			var names []string
			wrapped, left := 0, make(map[weave.ReasonKind]int)
			eachOfModules(t, jdk, func(module, path string, data []byte) {
				pick := noTemplates
				if len(names)%2 == 0 {
					pick = probe
				}
				result, err := w.Weave(data, pick)
				if err != nil {
					t.Errorf("%s: %v", path, err)
				}
				if err != nil || result.Bytes == nil {
					return // it has no calls
				}
				judge(t, result)
				if len(names)%4 == 0 {
					checkMap(t, data, result)
				}
				for _, m := range result.Methods {
					wrapped += m.Sites
					if len(m.Left) > 0 && m.Sites == 0 && m.Woven != (len(names)%2 == 0) {
						t.Errorf("%s: %s%s, whose calls are left alone, is woven: %v, %v", path, m.Name, m.Descriptor, m.Woven, m.Reason)
					}
					for _, l := range m.Left {
						left[kindOf(l.Reason)]++
					}
				}
				writeFile(t, filepath.Join(root, module, path), result.Bytes)
				names = append(names, strings.ReplaceAll(strings.TrimSuffix(path, ".class"), "/", "."))
			})
			t.Logf("%d classes, %d calls wrapped; left alone: %v", len(names), wrapped, left)
			if len(names) < 200 || wrapped < 10000 {
				t.Error("too few")
			}
			for kind := range left {
				if kind != weave.TooLarge && kind != weave.BeforeSuper {
					t.Errorf("left alone: %s", kind)
				}
			}
			list := filepath.Join(root, "list")
			writeFile(t, list, []byte(strings.Join(names, "\n")))
			args := []string{"-Xverify:all", "-Xshare:off"}
			for module := range siteModules {
				args = append(args, "--patch-module", module+"="+filepath.Join(root, module))
			}
			outcome := jvmtest.Run(t, jdk, append(args, "-cp", j.dir, "LinkAll", list)...)
			if want := fmt.Sprintf("linked %d\n", len(names)); outcome.Stdout != want {
				t.Errorf("%.2000s\n%.2000s", outcome.Stdout, outcome.Stderr)
			}
		})
	}
}

// eachOfModules visits a sample of classes that have calls.
func eachOfModules(t *testing.T, jdk jvmtest.JDK, visit func(module, path string, data []byte)) {
	t.Helper()
	image, err := jimage.Open(jdk.Image())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = image.Close() }() // only read
	count := make(map[string]int)
	err = image.Each(func(module, path string, data []byte) error {
		if siteModules[module] == 0 || !strings.HasSuffix(path, ".class") || len(data) < 3000 {
			return nil
		}
		if count[module]++; count[module]%siteModules[module] == 0 {
			visit(module, path, bytes.Clone(data))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSitesDeterminism: the same class is woven to the same bytes, by whichever
// weaver, whatever it wove before.
func TestSitesDeterminism(t *testing.T) {
	j := compileSites(t, anyJDK(t), "17")
	classes := someClasses(t, j.java)
	w := j.weaver(t, "site")
	first := weaveEach(t, w, classes, j.pick(t, "probe"))
	weaveEach(t, w, classes, noTemplates)
	wantSame(t, "again", first, weaveEach(t, w, classes, j.pick(t, "probe")))
	wantSame(t, "by another weaver", first, weaveEach(t, j.weaver(t, "site"), classes, j.pick(t, "probe")))
}

// TestLiveTemplateFitsCalls: what sessions weave around methods can be woven around
// calls too.
func TestLiveTemplateFitsCalls(t *testing.T) {
	j := compileSites(t, anyJDK(t), "17")
	w := weave.NewWeaver()
	var err error
	if w.SiteTemplate, err = weave.CompileSiteTemplate(agent.LiveTemplate()); err != nil {
		t.Fatal(err)
	}
	w.Sites = everyCall
	class, method := agent.LiveTemplate()
	live := compiled(t, class, method)
	woven := weaveSites(t, w, readFile(t, filepath.Join(j.dir, "Sites.class")), func(weave.MethodInfo) []*weave.Template {
		return []*weave.Template{live}
	})
	if !bytes.Contains(woven, []byte(agent.HookClass())) {
		t.Errorf("the woven class does not name %s", agent.HookClass())
	}
}
