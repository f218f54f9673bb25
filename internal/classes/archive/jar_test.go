package archive

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRewriteKeepsWhatItDoesNotChange(t *testing.T) {
	before := jar(t,
		member{"META-INF/", "", zip.Store},
		class("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\r\n\r\n"),
		class("b/B.class", strings.Repeat("weave this ", 500)),
		class("a/A.class", strings.Repeat("leave this ", 500)),
		stored("c/C.class", []byte("weave stored")),
		class("META-INF/versions/11/a/A.class", "weave for 11"),
		class("text.txt", "weave not, as this is no class"),
	)
	report, after := rewriteJar(t, before, options())
	if report.Classes != 4 || report.Changed != 3 {
		t.Errorf("report %+v", report)
	}
	old, now := openJar(t, before), openJar(t, after)
	if names(now) != names(old) || now.Comment != old.Comment {
		t.Fatalf("entries %s, comment %q; want %s, %q", names(now), now.Comment, names(old), old.Comment)
	}
	for i, f := range now.File {
		was := old.File[i]
		if f.Method != was.Method || f.Comment != was.Comment || !f.Modified.Equal(was.Modified) || f.ExternalAttrs != was.ExternalAttrs {
			t.Errorf("%s: header %+v, was %+v", f.Name, f.FileHeader, was.FileHeader)
		}
		want := content(t, was)
		if isClassName(f.Name) && strings.Contains(want, "weave") {
			want = "WOVEN " + want
		}
		if got := content(t, f); got != want {
			t.Errorf("%s: content %q, want %q", f.Name, got, want)
		}
	}
}

func TestNestedJars(t *testing.T) {
	deepest := jar(t, class("d/D.class", "weave"))
	middle := jar(t, stored("deep.jar", deepest), class("m/M.class", "leave"))
	quiet := jar(t, class("q/Q.class", "leave"), class("META-INF/A.SF", ""), class("META-INF/A.RSA", ""))
	before := jar(t,
		stored("BOOT-INF/lib/middle.jar", middle),
		stored("BOOT-INF/lib/quiet.jar", quiet),
		class("BOOT-INF/lib/packed.jar", string(jar(t, class("p/P.class", "weave")))),
		class("BOOT-INF/lib/broken.jar", "not a zip"),
		class("BOOT-INF/classes/x/X.class", "weave"),
	)
	report, after := rewriteJar(t, before, options())
	if report.Classes != 5 || report.Changed != 3 || report.Nested != 4 || len(report.NotJars) != 1 {
		t.Errorf("report %+v", report)
	}
	outer := openJar(t, after)
	for i, method := range []uint16{zip.Store, zip.Store, zip.Deflate, zip.Deflate, zip.Deflate} {
		if outer.File[i].Method != method {
			t.Errorf("%s: method %d, want %d", outer.File[i].Name, outer.File[i].Method, method)
		}
	}
	in := openJar(t, []byte(content(t, outer.File[0])))
	deep := openJar(t, []byte(content(t, in.File[0])))
	if got := content(t, deep.File[0]); got != "WOVEN weave" || in.File[0].Method != zip.Store {
		t.Errorf("deepest class %q, its jar packed by method %d", got, in.File[0].Method)
	}
	if content(t, outer.File[1]) != string(quiet) {
		t.Error("an untouched nested jar changed")
	}
	if content(t, outer.File[3]) != "not a zip" {
		t.Error("a file that is no jar changed")
	}
}

func TestSignedJar(t *testing.T) {
	manifest := "Manifest-Version: 1.0\r\n\r\nName: a/A.class\r\nSHA-256-Digest: abc\r\n def\r\n\r\nName: b/\r\nSealed: true\r\nSHA1-Digest: x\r\n\r\n"
	signed := jar(t,
		class("META-INF/MANIFEST.MF", manifest),
		class("META-INF/KEY.SF", "sf"),
		class("META-INF/key.ec", "block"),
		class("META-INF/SIG-X", "x"),
		class("a/A.class", "weave"),
	)
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.jar"), filepath.Join(dir, "out.jar")
	writeBytes(t, in, signed)
	_, err := Rewrite(context.Background(), in, out, options())
	var refused *SignedError
	if !errors.As(err, &refused) || refused.Signature != "META-INF/KEY.SF" || !strings.Contains(err.Error(), "--strip-signatures") {
		t.Errorf("error %v", err)
	}
	noLeftovers(t, dir, 1)

	o := options()
	o.StripSignatures = true
	report, after := rewriteJar(t, signed, o)
	r := openJar(t, after)
	if len(report.Stripped) != 1 || names(r) != "META-INF/MANIFEST.MF a/A.class" {
		t.Errorf("report %+v, entries %s", report, names(r))
	}
	if want := "Manifest-Version: 1.0\r\n\r\nName: b/\r\nSealed: true\r\n\r\n"; content(t, r.File[0]) != want {
		t.Errorf("manifest %q, want %q", content(t, r.File[0]), want)
	}

	nested := jar(t, stored("lib/signed.jar", signed))
	writeBytes(t, in, nested)
	if _, err := Rewrite(context.Background(), in, out, options()); !errors.As(err, &refused) || !strings.HasSuffix(refused.Jar, "in.jar!/lib/signed.jar") {
		t.Errorf("nested: error %v", err)
	}
}

func TestFailureLeavesTheOutputAlone(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.jar"), filepath.Join(dir, "out.jar")
	writeBytes(t, in, jar(t, class("a/A.class", "weave"), class("b/B.class", "fail"), class("c/C.class", "weave")))
	writeBytes(t, out, []byte("precious"))
	_, err := Rewrite(context.Background(), in, out, options())
	if !errors.Is(err, os.ErrInvalid) || !strings.HasPrefix(err.Error(), "b/B.class: ") {
		t.Errorf("error %v", err)
	}
	refusing := options()
	refusing.NewTransform = func() Transform { return func(Entry) ([]byte, error) { return nil, nil } }
	refusing.Commit = func() error { return fs.ErrPermission }
	if _, err := Rewrite(context.Background(), in, out, refusing); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("refused: error %v", err)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Rewrite(cancelled, in, out, options()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
	if data, err := os.ReadFile(out); err != nil || string(data) != "precious" {
		t.Errorf("output %q, %v", data, err)
	}
	noLeftovers(t, dir, 2)
}

func TestOutputIsNotTheInput(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in.jar")
	writeBytes(t, in, jar(t, class("a/A.class", "weave")))
	link := filepath.Join(dir, "link.jar")
	if err := os.Symlink(in, link); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{in, link, dir, filepath.Join(dir, "missing", "out.jar")} {
		_, err := Rewrite(context.Background(), in, out, options())
		var refused *OutputError
		if !errors.As(err, &refused) {
			t.Errorf("output %s: error %v, want an OutputError", out, err)
		}
	}
}

func TestScriptBeforeTheJar(t *testing.T) {
	script := "#!/bin/sh\nexec java -jar \"$0\"\n"
	before := append([]byte(script), jar(t, class("a/A.class", "weave"), class("b/B.class", "leave"))...)
	_, after := rewriteJar(t, before, options())
	if !bytes.HasPrefix(after, []byte(script+"PK\x03\x04")) {
		t.Errorf("output begins with %q", after[:40])
	}
	if got := content(t, openJar(t, after).File[0]); got != "WOVEN weave" {
		t.Errorf("class %q", got)
	}
}

func TestHostileJars(t *testing.T) {
	deep := jar(t, class("a/A.class", "weave"))
	for range maxDepth + 1 {
		deep = jar(t, stored("in.jar", deep))
	}
	var unsafe *UnsafePathError
	var limit *LimitError
	for _, tt := range []struct {
		name   string
		data   []byte
		target any
	}{
		{"parent", jar(t, class("../a.class", "weave")), &unsafe},
		{"inner parent", jar(t, class("a/../../a.txt", "")), &unsafe},
		{"absolute", jar(t, class("/etc/a.txt", "")), &unsafe},
		{"backslash", jar(t, class(`..\a.txt`, "")), &unsafe},
		{"drive", jar(t, class("c:a.txt", "")), &unsafe},
		{"deep", deep, &limit},
	} {
		dir := t.TempDir()
		in := filepath.Join(dir, "in.jar")
		writeBytes(t, in, tt.data)
		_, err := Rewrite(context.Background(), in, filepath.Join(dir, "out.jar"), options())
		if !errors.As(err, tt.target) {
			t.Errorf("%s: Rewrite gives %v", tt.name, err)
		}
		if err := Walk(context.Background(), in, func(Entry) error { return nil }); !errors.As(err, tt.target) {
			t.Errorf("%s: Walk gives %v", tt.name, err)
		}
		noLeftovers(t, dir, 1)
	}
}

func TestUnpackingIsBounded(t *testing.T) {
	r := openJar(t, jar(t, class("a.class", strings.Repeat("0", 1000)), class("b.class", strings.Repeat("0", 1000))))
	var limit *LimitError
	u := &unpacker{}
	u.left.Store(1500)
	if _, err := u.read(r.File[0], "a", 999); !errors.As(err, &limit) {
		t.Errorf("entry over its limit: %v", err)
	}
	if _, err := u.read(r.File[0], "a", 1000); err != nil {
		t.Error(err)
	}
	if _, err := u.read(r.File[1], "b", 1000); !errors.As(err, &limit) {
		t.Errorf("archive over its budget: %v", err)
	}
}

func TestProgressReachesTheEnd(t *testing.T) {
	o := options()
	last, whole := int64(-1), int64(0)
	o.Progress = func(done, total int64) {
		if done < last || done > total {
			t.Errorf("progress from %d to %d of %d", last, done, total)
		}
		last, whole = done, total
	}
	rewriteJar(t, jar(t, class("a.class", "weave"), stored("in.jar", jar(t, class("b.class", "weave"), class("c", "x")))), o)
	if last != whole || whole == 0 {
		t.Errorf("ended at %d of %d", last, whole)
	}
}

func TestMainClass(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in.jar")
	writeBytes(t, in, jar(t, class("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\r\nMain-Class: com.acme.\r\n Main\r\n\r\nName: x\r\nMain-Class: wrong\r\n")))
	if got := MainClass(in); got != "com.acme.Main" {
		t.Errorf("main class %q", got)
	}
}

func TestIndex(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in.jar")
	writeBytes(t, in, jar(t, class("META-INF/MANIFEST.MF", "Start-Class: com.acme.Main\n"), class("a/B.class", "x"), class("large", strings.Repeat("x", maxSmall+1))))
	file, err := os.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	index, err := ReadIndex(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(index.Names, " "); got != "META-INF/MANIFEST.MF a/B.class large" {
		t.Errorf("entries %q", got)
	}
	if got := index.Attribute("start-class"); got != "com.acme.Main" {
		t.Errorf("Start-Class is %q", got)
	}
	if got, err := index.Read("a/B.class"); string(got) != "x" || err != nil {
		t.Errorf("content %q, %v", got, err)
	}
	var limit *LimitError
	if _, err := index.Read("large"); !errors.As(err, &limit) {
		t.Errorf("a large entry: %v", err)
	}
	if _, err := index.Read("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an entry that is missing: %v", err)
	}
}

func TestBoundedReader(t *testing.T) {
	b := &boundedReader{file: strings.NewReader("0123456789"), left: 5}
	if _, err := b.ReadAt(make([]byte, 3), 7); err != nil {
		t.Error(err)
	}
	if _, err := b.ReadAt(make([]byte, 3), 0); !errors.Is(err, errTooLong) {
		t.Errorf("more than allowed: %v", err)
	}
}

func TestWithoutZip64(t *testing.T) {
	for _, tt := range []struct{ extra, want string }{
		{"", ""},
		{"\x01\x00\x02\x00ab", ""},
		{"\xfe\xca\x00\x00\x01\x00\x01\x00xUT\x01\x00y", "\xfe\xca\x00\x00UT\x01\x00y"},
		{"\x01\x00\xff\x00x", "\x01\x00\xff\x00x"},
		{"abc", "abc"},
	} {
		if got := string(withoutZip64([]byte(tt.extra))); got != tt.want {
			t.Errorf("withoutZip64(%q) = %q, want %q", tt.extra, got, tt.want)
		}
	}
}

// member is an entry of a jar under test.
type member struct {
	name   string
	data   string
	method uint16
}

var longAgo = time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)

// jar builds a jar whose entries all have a time, a comment and attributes
// worth keeping.
func jar(t testing.TB, members ...member) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, m := range members {
		head := &zip.FileHeader{Name: m.name, Method: m.method, Modified: longAgo, Comment: "about " + m.name, ExternalAttrs: 0o640 << 16}
		if m.method == zip.Store {
			head.CRC32 = crc32.ChecksumIEEE([]byte(m.data))
			head.CompressedSize64, head.UncompressedSize64 = uint64(len(m.data)), uint64(len(m.data))
			raw, err := w.CreateRaw(head)
			write(t, raw, m.data, err)
			continue
		}
		packed, err := w.CreateHeader(head)
		write(t, packed, m.data, err)
	}
	if err := w.SetComment("the jar"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func write(t testing.TB, w io.Writer, data string, err error) {
	t.Helper()
	if err == nil && data != "" {
		_, err = io.WriteString(w, data)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// classes are only recognised by their names here, so any text serves as one.
func class(name, text string) member { return member{name, text, zip.Deflate} }

func stored(name string, data []byte) member { return member{name, string(data), zip.Store} }

// change is a transform that marks classes whose text says so and fails on
// those that ask for it.
func change(e Entry) ([]byte, error) {
	switch {
	case bytes.Contains(e.Data, []byte("weave")):
		return append([]byte("WOVEN "), e.Data...), nil
	case bytes.Contains(e.Data, []byte("fail")):
		return nil, os.ErrInvalid
	}
	return nil, nil
}

func options() Options {
	return Options{NewTransform: func() Transform { return change }, Jobs: 3}
}

// rewriteJar runs Rewrite over a jar and opens the result.
func rewriteJar(t *testing.T, data []byte, o Options) (*Report, []byte) {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.jar"), filepath.Join(dir, "out.jar")
	writeBytes(t, in, data)
	report, err := Rewrite(context.Background(), in, out, o)
	if err != nil {
		t.Fatal(err)
	}
	result, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	noLeftovers(t, dir, 2)
	return report, result
}

func writeBytes(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// noLeftovers checks that a directory holds as many files as it should.
func noLeftovers(t *testing.T, dir string, want int) {
	t.Helper()
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != want {
		t.Errorf("%d files in the directory of the output, want %d: %v", len(names), want, names)
	}
}

func openJar(t *testing.T, data []byte) *zip.Reader {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func content(t *testing.T, f *zip.File) string {
	t.Helper()
	r, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	return string(data)
}

func names(r *zip.Reader) string {
	var all []string
	for _, f := range r.File {
		all = append(all, f.Name)
	}
	return strings.Join(all, " ")
}

// FuzzJar holds that rewriting any bytes taken for a jar ends in an error or
// in a jar with the same entries, and never in a panic.
func FuzzJar(f *testing.F) {
	inner := jar(f, class("j/J.class", "weave"))
	f.Add(jar(f, class("a/A.class", "weave"), stored("in.jar", inner), member{"d/", "", zip.Store}))
	f.Add(append([]byte("#!/bin/sh\n"), inner...))
	f.Add(jar(f, class("META-INF/A.SF", ""), class("META-INF/A.RSA", ""), class("META-INF/MANIFEST.MF", "A: b\n\nName: x\nX-Digest: y\n"), class("a.class", "weave")))
	f.Fuzz(func(t *testing.T, data []byte) {
		o := options()
		o.Jobs, o.StripSignatures = 1, true
		w := &rewriter{ctx: context.Background(), options: o, pool: newPool(o), unpack: newUnpacker(0)}
		w.unpack.left.Store(16 << 20)
		defer w.pool.close()
		result := w.nestedBytes(data, "in.jar", "", 0)
		if result.err != nil || !result.changed {
			return
		}
		before, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		after, err := zip.NewReader(bytes.NewReader(result.data), int64(len(result.data)))
		if err != nil {
			t.Fatalf("the output is no jar: %v", err)
		}
		if len(w.report.Stripped) == 0 && names(after) != names(before) {
			t.Errorf("entries %s, were %s", names(after), names(before))
		}
	})
}

// FuzzIndex reads the directory of any jar, and an attribute of its manifest.
func FuzzIndex(f *testing.F) {
	f.Add(jar(f, class("META-INF/MANIFEST.MF", "Main-Class: a.\r\n B\r\n\r\nName: x\n"), class("a/B.class", "")))
	f.Add(jar(f, stored("META-INF/MANIFEST.MF", []byte("main-class:x\r\r"))))
	f.Fuzz(func(t *testing.T, data []byte) {
		index, err := readIndex(bytes.NewReader(data), "a.jar", int64(len(data)))
		if err != nil {
			return
		}
		if len(index.Names) > len(data) {
			t.Errorf("%d entries in %d bytes", len(index.Names), len(data))
		}
		if value := index.Attribute("Main-Class"); strings.ContainsAny(value, "\r\n") {
			t.Errorf("an attribute %q", value)
		}
	})
}

// FuzzManifest strips any manifest. Its sections are all of it, and stripping it again changes nothing.
func FuzzManifest(f *testing.F) {
	f.Add([]byte("A: b\n\nName: x\nX-Digest: y\n z\nB: c\n\nName: y\nSHA-256-Digest-Manifest: z\n"))
	f.Add([]byte("A: b\r\r\r\nName: x\r\n\r\n"))
	f.Add([]byte("\n\nA: b"))
	f.Fuzz(func(t *testing.T, manifest []byte) {
		if joined := bytes.Join(manifestSections(manifest), nil); !bytes.Equal(joined, manifest) {
			t.Errorf("the sections of %q are %q", manifest, joined)
		}
		stripped := stripManifest(manifest)
		if len(stripped) > len(manifest) {
			t.Errorf("%q became longer: %q", manifest, stripped)
		}
		if again := stripManifest(stripped); !bytes.Equal(again, stripped) {
			t.Errorf("%q was stripped to %q, then to %q", manifest, stripped, again)
		}
	})
}
