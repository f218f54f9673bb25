package foothold

import (
	"errors"
	"os"

	"github.com/sonde-jvm/sonde/internal/attach/jvmproc"
)

// LetGo has a program begin that its agent holds at its start. It reports whether
// one was held; to let go what is not held does nothing.
func LetGo(jvm *jvmproc.JVM) (bool, error) {
	f := &Foothold{host: jvmproc.Local, jvm: jvm}
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
