package layering

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// root is the top of the repository, seen from this package.
const root = "../.."

// sourcePackage is one folder of Go files with what its code, tests aside,
// imports; each import is kept with one file that makes it.
type sourcePackage struct {
	path    string
	imports map[string]string
}

// readPackages finds every package of the module, build constraints ignored, so
// that code for another system obeys the same rules.
func readPackages(t *testing.T) []sourcePackage {
	t.Helper()
	byPath := map[string]*sourcePackage{}
	for _, file := range sourceFiles(t) {
		if path.Ext(file) != ".go" {
			continue
		}
		dir := path.Dir(file)
		p := byPath[dir]
		if p == nil {
			p = &sourcePackage{path: dir, imports: map[string]string{}}
			byPath[dir] = p
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, imported := range importsOf(t, file) {
			p.imports[imported] = file
		}
	}
	if len(byPath) == 0 {
		t.Fatalf("no Go package found below %s", root)
	}
	packages := make([]sourcePackage, 0, len(byPath))
	for _, p := range byPath {
		packages = append(packages, *p)
	}
	return packages
}

func importsOf(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.ImportsOnly)
	if err != nil {
		t.Fatalf("reading imports: %v", err)
	}
	var imports []string
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatalf("%s: import %s: %v", file, spec.Path.Value, err)
		}
		imports = append(imports, imported)
	}
	return imports
}

// sourceFiles lists every file that could be committed, by its slash-separated
// path from the root: all but what .gitignore names.
func sourceFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && isBuilt(name):
			return fs.SkipDir
		case entry.Type().IsRegular():
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("listing the repository: %v", err)
	}
	return files
}

func isBuilt(dir string) bool {
	switch dir {
	case ".git", ".tools", "bin", "build":
		return true
	}
	return false
}
