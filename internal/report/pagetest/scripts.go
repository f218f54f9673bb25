package pagetest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	inlineScript = regexp.MustCompile(`(?s)<script>(.*?)</script>`)
	definition   = regexp.MustCompile(`(?m)^(?:async )?(?:function|class|const|let) (\w+)`)
	noCode       = regexp.MustCompile(`(?m)//.*$|"(?:[^"\\\n]|\\.)*"`)
	identifier   = regexp.MustCompile(`\.?[\w$]+:?`)
)

// CheckScripts fails where the script of a page uses a name that one of the scripts in
// folders defines and that the page's own script does not. The scripts of a page are
// joined from a list: this is how a file that is missing from the list shows.
func CheckScripts(t *testing.T, html string, folders ...string) {
	t.Helper()
	found := inlineScript.FindStringSubmatch(html)
	if found == nil {
		t.Fatal("the page has no script")
	}
	definedIn := map[string]string{}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.js"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no scripts in %s: %v", folder, err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range definition.FindAllStringSubmatch(string(source), -1) {
				definedIn[name[1]] = file
			}
		}
	}
	for _, name := range undefined(found[1], definedIn) {
		t.Errorf("the page uses %s and does not include %s", name, definedIn[name])
	}
}

// undefined returns which of the names that are defined elsewhere a script uses and
// does not define. Properties and keys are not names.
func undefined(script string, elsewhere map[string]string) []string {
	defined := map[string]bool{}
	for _, name := range definition.FindAllStringSubmatch(script, -1) {
		defined[name[1]] = true
	}
	var missing []string
	for _, word := range identifier.FindAllString(noCode.ReplaceAllString(script, ""), -1) {
		if _, known := elsewhere[word]; known && !defined[word] && !slices.Contains(missing, word) {
			missing = append(missing, word)
		}
	}
	slices.SortFunc(missing, strings.Compare)
	return missing
}
