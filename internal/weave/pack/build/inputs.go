package build

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/archive"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
)

// A source is a class of an input.
type source struct {
	name   string // internal
	in     string // input!/entry
	loader uint32 // the same for classes that one loader certainly has
	file   []byte
}

// inputs holds the classes of all inputs, each form of a class once.
type inputs struct {
	request *probes.Request
	classes []*source
	read    int         // number of classes read
	broken  []pack.Left // classes that a probe may name and that cannot be read

	met     map[form]bool
	loaders map[string]uint32 // by container
	taken   map[place]bool
}

// A form is one version of a class.
type form struct {
	name string
	sum  [sha256.Size]byte
}

type place struct {
	name   string
	loader uint32
}

// readInputs reads the classes that a request needs. It reads them again if a class that the request
// names has shown that it needs all.
func readInputs(ctx context.Context, paths []string, request *probes.Request) (*inputs, error) {
	isByType := request.NeedsTypes()
	in, err := readOnce(ctx, paths, request)
	if err != nil || isByType {
		return in, err
	}
	classes := make([]universe.Loaded, len(in.classes))
	for i, c := range in.classes {
		classes[i] = universe.Loaded{Name: c.name, Loader: c.loader, File: c.file}
	}
	if request.Learn(universe.Of(nil, classes)); request.NeedsTypes() {
		return readOnce(ctx, paths, request)
	}
	return in, nil
}

func readOnce(ctx context.Context, paths []string, request *probes.Request) (*inputs, error) {
	in := &inputs{request: request, met: make(map[form]bool), loaders: make(map[string]uint32), taken: make(map[place]bool)}
	for _, path := range paths {
		kind, err := archive.Detect(path)
		if err != nil {
			return nil, err
		}
		if kind == archive.Image {
			return nil, &ImageError{path}
		}
		err = archive.Walk(ctx, path, func(e archive.Entry) error {
			in.add(path, kind, e)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(in.classes, func(a, b *source) int { return strings.Compare(a.name, b.name) })
	return in, nil
}

// add adds a class that the set names, or that conditions may depend on.
func (in *inputs) add(path string, kind archive.Kind, e archive.Entry) {
	if e.Path == moduleInfo || strings.HasSuffix(e.Path, "/"+moduleInfo) {
		return
	}
	in.read++
	where := path
	if kind != archive.ClassFile {
		where += "!/" + e.Path
		if kind == archive.Tree {
			where = filepath.Join(path, e.Path)
		}
	}
	parsed, err := classfile.Parse(e.Data)
	name := ""
	if err == nil {
		name = parsed.Name()
	}
	if name == "" {
		if named := nameOf(e.Path); in.request.MatchClass(named) {
			in.broken = append(in.broken, pack.Left{Class: named, Reason: fmt.Sprintf("%s cannot be read: %v", where, err)})
		}
		return
	}
	if !in.request.NeedsAll() && !in.request.NeedsTypes() && !in.request.ReadsClass(name) {
		return
	}
	one := form{name, sha256.Sum256(e.Data)}
	if in.met[one] {
		return
	}
	in.met[one] = true
	in.classes = append(in.classes, &source{name: name, in: where, loader: in.loader(name, path, e), file: slices.Clone(e.Data)})
}

const moduleInfo = "module-info.class"

// loader returns the number of the container of a class: classes of one jar have one loader,
// classes of different jars may have different ones. The classes of a multi-release jar for
// one release have a number of their own, and so has a second class of the same name.
func (in *inputs) loader(name, path string, e archive.Entry) uint32 {
	container := path + "!" + e.Path[:max(0, strings.LastIndex(e.Path, "!/"))]
	if release := e.Release(); release > 0 {
		container = fmt.Sprintf("%s!%d", container, release)
	}
	for {
		number, known := in.loaders[container]
		if !known {
			number = uint32(len(in.loaders) + 1) // 0 is the boot loader
			in.loaders[container] = number
		}
		if at := (place{name, number}); !in.taken[at] {
			in.taken[at] = true
			return number
		}
		container += "!"
	}
}

// roots are the directories of classes in archives of programs.
var roots = []string{"WEB-INF/classes/", "BOOT-INF/classes/", "META-INF/versions/"}

// nameOf returns the name of the class that a path should hold.
func nameOf(path string) string {
	path = strings.TrimSuffix(path[strings.LastIndex(path, "!/")+1:], ".class")
	path = strings.TrimPrefix(path, "/")
	for _, root := range roots {
		if rest, is := strings.CutPrefix(path, root); is {
			path = rest
		}
	}
	if digits, rest, found := strings.Cut(path, "/"); found && digits != "" && strings.Trim(digits, "0123456789") == "" {
		path = rest
	}
	return path
}
