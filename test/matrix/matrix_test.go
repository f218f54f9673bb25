package matrix

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
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

// jarFolders is where Debian's packages put their jars.
var jarFolders = []string{"/usr/share/java", "/usr/share/groovy/lib", "/usr/share/jruby/lib", "/usr/share/ant/lib"}

// TestJars weaves every class of every jar and has each verified.
func TestJars(t *testing.T) {
	needMatrix(t)
	jars := findJars(t)
	if len(jars) < 50 {
		t.Skipf("NOT TESTED: only %d jars in %v: install the packages of packages.txt", len(jars), jarFolders)
	}
	classes := jarClasses(t, jars)
	t.Logf("%d jars with %d different classes", len(jars), len(classes))
	list := writeList(t, classes)

	plainDir := t.TempDir()
	for _, jar := range jars {
		if err := os.Symlink(jar, filepath.Join(plainDir, filepath.Base(jar))); err != nil {
			t.Fatal(err)
		}
	}
	jdks := jvmtest.JDKs(t)
	if len(jdks) == 0 {
		return
	}
	templates, classpath := runtimeTemplates(t, jdks[0])
	plain := make(map[int]linking)
	for _, choice := range templates {
		t.Run(choice.name, func(t *testing.T) {
			wovenDir := t.TempDir()
			var pairs []jarPair
			for _, jar := range jars {
				pairs = append(pairs, jarPair{jar, filepath.Join(wovenDir, filepath.Base(jar))})
			}
			weaveJars(t, choice, pairs).report(t)
			for _, jdk := range jdks {
				t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
					run := func(dir string) linking {
						return link(t, jdk, "-Xverify:all", "-Xmx3g", "-cp", harness(t, jdk), "LinkJars", list, dir, classpath)
					}
					if _, done := plain[jdk.Major]; !done {
						plain[jdk.Major] = run(plainDir)
					}
					run(wovenDir).compare(t, plain[jdk.Major])
				})
			}
		})
	}
}

// findJars returns the jars of this machine, links resolved, each file name
// once.
func findJars(t *testing.T) []string {
	t.Helper()
	byName := make(map[string]string)
	for _, folder := range jarFolders {
		found, err := filepath.Glob(filepath.Join(folder, "*.jar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range found {
			if jar, err := filepath.EvalSymlinks(link); err == nil {
				byName[filepath.Base(jar)] = jar
			}
		}
	}
	var jars []string
	for _, jar := range byName {
		jars = append(jars, jar)
	}
	slices.Sort(jars)
	return jars
}

// jarClasses returns, as lines for the harness, the classes of all jars. A
// class that several jars hold is linked from the first: many are bundles of
// others.
func jarClasses(t *testing.T, jars []string) []string {
	t.Helper()
	seen := make(map[[sha256.Size]byte]bool)
	var lines []string
	for _, jar := range jars {
		archive, err := zip.OpenReader(jar)
		if err != nil {
			t.Fatalf("%s: %v", jar, err)
		}
		for _, entry := range archive.File {
			if !isClass(entry.Name) || strings.HasPrefix(entry.Name, "META-INF/") {
				continue
			}
			data, err := readEntry(entry)
			if err != nil {
				t.Fatalf("%s!%s: %v", jar, entry.Name, err)
			}
			if sum := sha256.Sum256(data); !seen[sum] {
				seen[sum] = true
				name := strings.ReplaceAll(strings.TrimSuffix(entry.Name, ".class"), "/", ".")
				lines = append(lines, filepath.Base(jar)+"\t"+name)
			}
		}
		archive.Close()
	}
	return lines
}

func isClass(name string) bool {
	return path.Ext(name) == ".class" && path.Base(name) != "module-info.class"
}

// runtimeTemplates returns the built-in probe and the fixture programs' rich
// template, and the path of what they call.
func runtimeTemplates(t *testing.T, jdk jvmtest.JDK) ([]weaving, string) {
	t.Helper()
	jar := writeRuntime(t)
	data, method, ok := agent.Template("probe")
	if !ok {
		t.Fatal("no built-in template probe")
	}
	probe, err := weave.CompileTemplate(data, method)
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob("../programs/templates/*.java")
	if err != nil {
		t.Fatal(err)
	}
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: sources, Classpath: []string{jar}, Flags: []string{"--release", "17"}})
	rich := compileTemplate(t, classes, "fixture/Rich", "rich")
	return weavings(probe, rich), jar + ":" + classes + "/"
}

// A jarPair is a jar and where to write it woven.
type jarPair struct{ from, to string }

// weaveJars weaves all classes of the jars and copies all else, except
// signatures, which hold no longer.
func weaveJars(t *testing.T, choice weaving, pairs []jarPair) *tally {
	t.Helper()
	return weaveAll(t, choice, func(send func(class)) error {
		for _, pair := range pairs {
			if err := weaveJar(pair, send); err != nil {
				return fmt.Errorf("%s: %w", pair.from, err)
			}
		}
		return nil
	})
}

func weaveJar(pair jarPair, send func(class)) error {
	in, err := zip.OpenReader(pair.from)
	if err != nil {
		return err
	}
	defer in.Close()
	file, err := os.Create(pair.to)
	if err != nil {
		return err
	}
	defer file.Close()
	out := zip.NewWriter(file)
	var mu sync.Mutex
	var pending sync.WaitGroup
	write := func(name string, data []byte) error {
		mu.Lock()
		defer mu.Unlock()
		entry, err := out.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			return err
		}
		_, err = entry.Write(data)
		return err
	}
	for _, entry := range in.File {
		name := entry.Name
		if strings.HasSuffix(name, "/") || isSignature(name) {
			continue
		}
		data, err := readEntry(entry)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !isClass(name) {
			if err := write(name, data); err != nil {
				return err
			}
			continue
		}
		pending.Add(1)
		send(class{filepath.Base(pair.from) + "!" + name, data, func(woven []byte) error {
			return write(name, woven)
		}, pending.Done})
	}
	pending.Wait()
	if err := out.Close(); err != nil {
		return err
	}
	return file.Close()
}

func isSignature(name string) bool {
	switch path.Ext(name) {
	case ".SF", ".RSA", ".DSA", ".EC":
		return path.Dir(name) == "META-INF"
	}
	return false
}

// sourceModule is what javac compiles: some 1,800 files of a module that needs
// little of others.
const sourceModule = "java.xml"

// newerThan17 are the files of that module, as JDK 25 has it, that use what 17
// does not know. They are left out where the compiler is older than the source.
var newerThan17 = []string{
	"CollatorFactoryBase.java", "CoreDocumentImpl.java", "DocumentCache.java", "LocaleUtility.java",
	"TemplatesImpl.java", "XMLGregorianCalendarImpl.java", "XSAttributeChecker.java",
}

// testJavac compiles a large source tree with javac as it is and with javac
// and all below it woven: the class files must be the same.
func (w wovenJDK) testJavac(t *testing.T) {
	sources, files := sourceTree(t, w.JDK)
	arguments := filepath.Join(t.TempDir(), "files.txt")
	if err := os.WriteFile(arguments, []byte(strings.Join(files, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	compile := func(flags []string) (jvmtest.Outcome, string) {
		out := t.TempDir()
		args := append(slices.Clone(flags), "-m", "jdk.compiler/com.sun.tools.javac.Main",
			"-proc:none", "-implicit:none", "-g", "-Xlint:none", "-XDignore.symbol.file", "-encoding", "UTF-8",
			"--patch-module", sourceModule+"="+sources, "-d", out, "@"+arguments)
		return jvmtest.Run(t, w.JDK, args...), out
	}
	plain, plainDir := compile(nil)
	if plain.Exit != 0 {
		t.Fatalf("javac cannot compile the sources: %s", lastLines(plain.Stderr))
	}
	woven, wovenDir := compile(w.flags)
	if woven.Stdout != plain.Stdout || woven.Exit != plain.Exit || withoutWarnings(woven.Stderr) != withoutWarnings(plain.Stderr) {
		t.Errorf("woven javac says otherwise: exit code %d\n%s", woven.Exit, lastLines(woven.Stdout+woven.Stderr))
	}
	want, got := tree(t, plainDir), tree(t, wovenDir)
	if len(want) < len(files) {
		t.Errorf("only %d class files from %d sources", len(want), len(files))
	}
	for name, data := range want {
		if !bytes.Equal(got[name], data) {
			t.Errorf("%s differs when compiled by woven javac", name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("woven javac wrote %d files, want %d", len(got), len(want))
	}
	t.Logf("%d sources gave %d class files, the same ones", len(files), len(want))
}

// withoutWarnings drops what the JVM itself says of its flags, not javac.
func withoutWarnings(text string) string {
	lines := strings.Split(text, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "WARNING: Using incubator modules")
	}), "\n")
}

// sourceTree unpacks the sources from the JDK's own src.zip or, where that is
// not installed, from that of another JDK.
func sourceTree(t *testing.T, jdk jvmtest.JDK) (dir string, files []string) {
	t.Helper()
	candidates := slices.Concat([]jvmtest.JDK{jdk}, jvmtest.Installed())
	for _, owner := range candidates {
		archive, err := zip.OpenReader(filepath.Join(owner.Home, "lib", "src.zip"))
		if err != nil {
			continue
		}
		defer archive.Close()
		dir = t.TempDir()
		for _, entry := range archive.File {
			name, inside := strings.CutPrefix(entry.Name, sourceModule+"/")
			base := path.Base(name)
			if !inside || path.Ext(name) != ".java" || base == "module-info.java" || base == "package-info.java" ||
				owner.Major > jdk.Major && slices.Contains(newerThan17, base) {
				continue
			}
			data, err := readEntry(entry)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := writeFile(file, data); err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		slices.Sort(files)
		return dir, files
	}
	t.Skip("NOT TESTED: no JDK has its lib/src.zip; install one that does")
	return "", nil
}

func readEntry(entry *zip.File) ([]byte, error) {
	content, err := entry.Open()
	if err != nil {
		return nil, err
	}
	defer content.Close()
	return io.ReadAll(content)
}

// tree reads all files below a directory.
func tree(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := make(map[string][]byte)
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		files[name], err = os.ReadFile(file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

const h2Jar = "/usr/share/java/h2.jar"

// testH2 runs a SQL script in H2, all of it and of the JDK woven, and expects
// the answers of the unwoven database.
func (w wovenJDK) testH2(t *testing.T, choice weaving) {
	if _, err := os.Stat(h2Jar); err != nil {
		t.Skipf("NOT TESTED: %s is missing: install libh2-java", h2Jar)
	}
	script := filepath.Join(t.TempDir(), "script.sql")
	if err := os.WriteFile(script, []byte(sqlScript()), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(flags []string, jar string) jvmtest.Outcome {
		return jvmtest.Run(t, w.JDK, append(slices.Clone(flags), "-cp", jar, "-Duser.timezone=UTC", "org.h2.tools.RunScript",
			"-url", "jdbc:h2:mem:matrix", "-user", "sa", "-script", script, "-showResults", "-continueOnError")...)
	}
	plain := run(nil, h2Jar)
	if plain.Exit != 0 || strings.Count(plain.Stdout, "-->") < 1000 {
		t.Fatalf("the script does not run: exit code %d\n%s", plain.Exit, lastLines(plain.Stdout+plain.Stderr))
	}
	jar := filepath.Join(t.TempDir(), "h2.jar")
	total := weaveJars(t, choice, []jarPair{{from: h2Jar, to: jar}})
	total.report(t)
	woven := run(w.flags, jar)
	woven.Stderr, plain.Stderr = withoutWarnings(woven.Stderr), withoutWarnings(plain.Stderr)
	if woven != plain {
		t.Errorf("woven H2 answers otherwise: exit code %d\n%s", woven.Exit, firstDifference(woven, plain))
	}
	t.Logf("%d lines of answers, the same", strings.Count(plain.Stdout, "\n"))
}

func firstDifference(got, want jvmtest.Outcome) string {
	for _, pair := range [][2]string{{got.Stdout, want.Stdout}, {got.Stderr, want.Stderr}} {
		gotLines, wantLines := strings.Split(pair[0], "\n"), strings.Split(pair[1], "\n")
		for i := range min(len(gotLines), len(wantLines)) {
			if gotLines[i] != wantLines[i] {
				return fmt.Sprintf("line %d\n  got  %s\n  want %s", i+1, gotLines[i], wantLines[i])
			}
		}
	}
	return "one stops early:\n" + lastLines(got.Stdout+got.Stderr)
}

// sqlScript is a script of some 3,000 statements whose answers are defined to
// the last row: every query is ordered, nothing asks for the time.
func sqlScript() string {
	var b strings.Builder
	b.WriteString(`
CREATE TABLE customer(id INT PRIMARY KEY, name VARCHAR(40) NOT NULL, tier VARCHAR(10), born DATE);
CREATE TABLE orders(id IDENTITY PRIMARY KEY, customer INT REFERENCES customer(id) ON DELETE CASCADE,
  amount DECIMAL(12,2) CHECK (amount > 0), placed TIMESTAMP, note CLOB, raw VARBINARY(100));
CREATE INDEX by_amount ON orders(amount DESC);
CREATE SEQUENCE ticket START WITH 100 INCREMENT BY 7;
CREATE VIEW spending AS SELECT c.id, c.name, SUM(o.amount) AS total, COUNT(*) AS n
  FROM customer c JOIN orders o ON o.customer = c.id GROUP BY c.id, c.name;
`)
	tiers := []string{"'gold'", "'silver'", "NULL"}
	for i := range 200 {
		fmt.Fprintf(&b, "INSERT INTO customer VALUES (%d, 'customer %c%d', %s, DATE '%d-%02d-%02d');\n",
			i, 'a'+i%26, i*7919%1000, tiers[i%3], 1950+i%50, 1+i%12, 1+i%28)
	}
	for i := range 1500 {
		fmt.Fprintf(&b, "INSERT INTO orders(customer, amount, placed, note, raw) VALUES (%d, %d.%02d, TIMESTAMP '2024-%02d-%02d %02d:%02d:00', REPEAT('n%d ', %d), X'%04x');\n",
			i*31%200, 1+i*7919%997, i%100, 1+i%12, 1+i%28, i%24, i%60, i, i%9, i)
	}
	for i := range 1200 {
		switch i % 8 {
		case 0:
			fmt.Fprintf(&b, "SELECT id, name, total FROM spending WHERE total > %d ORDER BY total DESC, id LIMIT 3;\n", i)
		case 1:
			fmt.Fprintf(&b, "SELECT tier, COUNT(*), AVG(amount), MAX(LENGTH(note)) FROM customer c LEFT JOIN orders o ON o.customer = c.id AND o.id %% %d = 0 GROUP BY tier ORDER BY tier NULLS LAST;\n", 1+i%17)
		case 2:
			fmt.Fprintf(&b, "UPDATE orders SET amount = amount * 1.01, note = CONCAT(note, 'u') WHERE id BETWEEN %d AND %d;\n", i, i+5)
		case 3:
			fmt.Fprintf(&b, "SELECT id, amount, RANK() OVER (PARTITION BY customer ORDER BY amount DESC, id) AS r FROM orders WHERE customer = %d ORDER BY r, id;\n", i%200)
		case 4:
			fmt.Fprintf(&b, "SELECT NEXT VALUE FOR ticket, UPPER(SUBSTRING(name, 3, %d)), EXTRACT(YEAR FROM born) + %d, HASH('SHA-256', name) FROM customer WHERE id = %d;\n", 1+i%9, i, i%200)
		case 5:
			fmt.Fprintf(&b, "WITH RECURSIVE f(n, a, b) AS (SELECT 1, CAST(0 AS BIGINT), CAST(1 AS BIGINT) UNION ALL SELECT n + 1, b, a + b FROM f WHERE n < %d) SELECT MAX(n), MAX(a) FROM f;\n", 2+i%60)
		case 6: // fails: a negative amount, a missing table, a division by zero, a duplicate key
			b.WriteString([]string{
				"INSERT INTO orders(customer, amount) VALUES (1, -5);\n",
				"SELECT * FROM missing;\n",
				fmt.Sprintf("SELECT %d / (id - id) FROM customer WHERE id = 3;\n", i),
				"INSERT INTO customer VALUES (3, 'again', NULL, NULL);\n",
			}[i/8%4])
		default:
			fmt.Fprintf(&b, "SELECT c.name, o.raw, FORMATDATETIME(o.placed, 'yyyy-MM-dd') FROM orders o JOIN customer c ON c.id = o.customer WHERE o.amount < %d AND EXISTS (SELECT 1 FROM orders p WHERE p.customer = o.customer AND p.id <> o.id) ORDER BY o.id LIMIT 2;\n", i)
		}
	}
	b.WriteString(`
SET AUTOCOMMIT FALSE;
DELETE FROM customer WHERE tier = 'silver';
SELECT COUNT(*) FROM orders;
ROLLBACK;
SELECT COUNT(*), SUM(amount) FROM orders;
ALTER TABLE customer ADD COLUMN score INT DEFAULT 7;
MERGE INTO customer(id, name, score) KEY(id) VALUES (3, 'merged', 9), (1000, 'new', 8);
SELECT id, name, score FROM customer WHERE score > 7 ORDER BY id;
EXPLAIN SELECT * FROM orders WHERE amount > 500 ORDER BY amount DESC;
DROP VIEW spending;
DROP TABLE customer CASCADE;
SELECT COUNT(*) FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = 'PUBLIC';
`)
	return b.String()
}
