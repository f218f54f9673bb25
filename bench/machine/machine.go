// Package machine tells what there is to measure on, and how busy it is.
package machine

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// JDKs are those installed that Sonde supports; of one major version, if that is
// not 0.
func JDKs(major int) ([]jvmtest.JDK, error) {
	const remedy = "install one below /usr/lib/jvm or name its home in SONDE_JDKS"
	jdks := slices.DeleteFunc(slices.Clone(jvmtest.Installed()), func(jdk jvmtest.JDK) bool {
		return major != 0 && jdk.Major != major || !slices.Contains(jvmtest.Supported, jdk.Major)
	})
	switch {
	case len(jdks) > 0:
		return jdks, nil
	case major != 0:
		return nil, fmt.Errorf("no JDK %d found: %s", major, remedy)
	}
	return nil, errors.New("no JDK found: " + remedy)
}

// Load is what the machine was asked to do, over the last minute.
func Load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return string(data[:min(len(data), len("0.00"))])
}
