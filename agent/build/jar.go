package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"hash/crc32"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// entryTime is the time of every entry: the earliest that a zip file can express.
var entryTime = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// entryDate is the date of entryTime in the encoding of zip files.
const entryDate = 0<<9 | 1<<5 | 1

const manifestName = "META-INF/MANIFEST.MF"

// A folder maps paths with slashes to contents.
type folder map[string][]byte

// add adds the files of another folder below a prefix.
func (f folder) add(prefix string, other folder) {
	for name, data := range other {
		f[prefix+name] = data
	}
}

// An adder adds a file to a jar.
type adder func(archive *zip.Writer, name string, data []byte) error

// pack builds a jar with the manifest first and all files sorted by name.
func pack(manifest string, files folder, add adder) ([]byte, error) {
	var jar bytes.Buffer
	archive := zip.NewWriter(&jar)
	if err := add(archive, manifestName, []byte(manifest)); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := add(archive, name, files[name]); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return jar.Bytes(), nil
}

// addEntry stores a file without compression, because the result of a deflater depends on its version, and the jar is small.
func addEntry(archive *zip.Writer, name string, data []byte) error {
	entry, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store, Modified: entryTime})
	if err != nil {
		return err
	}
	_, err = entry.Write(data)
	return err
}

// addSized is addEntry with size and checksum before the content, where Java's
// ZipInputStream, by which the stub reads its jar, must find them.
func addSized(archive *zip.Writer, name string, data []byte) error {
	entry, err := archive.CreateRaw(&zip.FileHeader{
		Name:               name,
		Method:             zip.Store,
		ModifiedDate:       entryDate,
		CRC32:              crc32.ChecksumIEEE(data),
		CompressedSize64:   uint64(len(data)),
		UncompressedSize64: uint64(len(data)),
	})
	if err != nil {
		return err
	}
	_, err = entry.Write(data)
	return err
}

// hookName begins the names of all hook classes in the sources. It is the name of the class whose methods are woven in.
const (
	hookName    = "SondeHooks"
	hookPackage = "java/lang/"
)

var hookPattern = regexp.MustCompile(`\b` + hookName)

// hookRename returns the name for the hooks of these sources. Hook classes stay in a JVM for ever, so those of different
// builds must have different names.
func hookRename(sources ...folder) string {
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	for _, files := range sources {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			fmt.Fprintf(sum, "%s %d\n%s", name, len(files[name]), files[name])
		}
	}
	return fmt.Sprintf("%s_%08x", hookName, sum.Sum32())
}

// rename returns sources in which the hook classes have another name.
func rename(sources folder, to string) folder {
	renamed := make(folder)
	for name, data := range sources {
		renamed[hookPattern.ReplaceAllString(name, to)] = hookPattern.ReplaceAll(data, []byte(to))
	}
	return renamed
}

// java8 turns sources of hooks into sources for Java 8, in which the JDK's internal classes and methods have other names.
// Some methods are replaced by those with more guarantees. SondeHooksStack replaces what has no equivalent.
var java8 = strings.NewReplacer(
	"jdk.internal.misc", "sun.misc",
	"jdk.internal.ref", "sun.misc",
	"jdk.internal.vm.annotation", "java.lang.invoke",
	"U.compareAndSet", "U.compareAndSwap",
	"U.getLongOpaque", "U.getLongVolatile",
	"U.putLongOpaque", "U.putOrderedLong",
	"U.putLongRelease", "U.putOrderedLong",
	"U.putIntRelease", "U.putOrderedInt",
	"U.getReference", "U.getObject",
	"U.objectFieldOffset", hookName+"Stack.offset",
	"U.invokeCleaner((ByteBuffer) mapped)", "((DirectBuffer) mapped).cleaner().clean()",
	"StackWalker", hookName+"Stack",
	"java.lang.ClassFrameInfo", "java.lang."+hookName+"Stack$StackFrame",
)

// inJava8 lists stubs that are not needed for Java 8: it has the class, or a hook class replaces it.
var inJava8 = []string{"jdk/internal/misc/Unsafe.java", "java/lang/StackWalker.java"}

// forJava8 returns the sources of hooks, or of their stubs, for Java 8.
func forJava8(sources folder) folder {
	converted := make(folder)
	for name, data := range sources {
		if !slices.Contains(inJava8, name) {
			converted[name] = []byte(java8.Replace(string(data)))
		}
	}
	return converted
}

// hookIndex lists the hook classes for the agent: the one whose methods are woven in, then the others.
func hookIndex(classes folder, main string) ([]byte, error) {
	var index bytes.Buffer
	fmt.Fprintln(&index, hookPackage+main)
	found := false
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		class, _ := strings.CutSuffix(name, ".class")
		switch {
		case class == hookPackage+main:
			found = true
		case strings.HasPrefix(class, hookPackage+main):
			fmt.Fprintln(&index, class)
		default:
			return nil, fmt.Errorf("hook class %s: its name must begin with %s%s", class, hookPackage, hookName)
		}
	}
	if !found {
		return nil, fmt.Errorf("the hooks have no class %s%s", hookPackage, hookName)
	}
	return index.Bytes(), nil
}
