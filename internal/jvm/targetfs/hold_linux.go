package targetfs

import (
	"errors"
	"os"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// LetGo has a program begin that its agent holds at its start. It reports whether
// one was held; to let go what is not held does nothing.
func LetGo(jvm *process.JVM) (bool, error) {
	f := &Foothold{host: process.Local, jvm: jvm}
	tmp, err := f.openTmp()
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, f.explain(err)
	}
	defer tmp.close()
	name := holdFile(jvm.NamespacePID)
	file, err := tmp.openFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, f.explain(err)
	}
	_ = file.Close() // it is the user's own: that is all that was asked
	if err := tmp.remove(name); err != nil {
		return false, f.explain(err)
	}
	return true, nil
}
