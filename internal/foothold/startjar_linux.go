package foothold

import (
	"errors"
	"fmt"
	"os"
	"path"

	"github.com/sonde-jvm/sonde/internal/attach/jvmproc"
)

// A StartJar is the agent's, where JVMs of our own user find it that are about to
// be started. They need it as long as they run.
type StartJar struct {
	Path string

	outer, dir *place
	dirName    string
}

// PlaceStartJar puts the agent's jar into a directory that is closed to others.
func PlaceStartJar(content []byte) (*StartJar, error) {
	self := &jvmproc.JVM{PID: os.Getpid(), UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
	var failed error
	for _, where := range places {
		jar, err := placeStartJar(self, where, content)
		if err == nil {
			return jar, nil
		}
		failed = errors.Join(failed, fmt.Errorf("%s: %w", where, err))
	}
	return nil, fmt.Errorf("the agent's jar can be written nowhere (%w)", failed)
}

func placeStartJar(self *jvmproc.JVM, where string, content []byte) (*StartJar, error) {
	outer, err := openPlace(jvmproc.Local, self, where)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf(".sonde-%d-%s", self.PID, random(8))
	dir, err := outer.makeDirectory(name)
	if err != nil {
		outer.close()
		return nil, err
	}
	hold(dir.dir)
	jar := &StartJar{Path: path.Join(where, name, jarFor(content)), outer: outer, dir: dir, dirName: name}
	if err := dir.fill(path.Base(jar.Path), content); err != nil {
		return nil, errors.Join(err, jar.Remove())
	}
	return jar, nil
}

// Remove takes the jar away. A second call does nothing.
func (j *StartJar) Remove() error {
	if j.dir == nil {
		return nil
	}
	err := removeWith(j.outer, j.dirName, j.dir)
	j.dir.close()
	j.outer.close()
	j.dir = nil
	return err
}
