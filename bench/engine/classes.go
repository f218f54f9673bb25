package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// benchJDK is the JDK whose classes are read, the one the bars were set on.
const benchJDK = 17

func findJDK() (jvmtest.JDK, error) {
	for _, jdk := range jvmtest.Installed() {
		if jdk.Major == benchJDK {
			return jdk, nil
		}
	}
	return jvmtest.JDK{}, fmt.Errorf("no JDK %d found: apt-get install openjdk-%d-jdk-headless", benchJDK, benchJDK)
}

// loadModule copies the class files of a module into memory, so that no round
// touches the image.
func loadModule(jdk jvmtest.JDK, module string) ([][]byte, error) {
	image, err := jimage.Open(jdk.Image())
	if err != nil {
		return nil, err
	}
	var classes [][]byte
	err = image.Each(func(of, path string, data []byte) error {
		if of == module && strings.HasSuffix(path, ".class") {
			classes = append(classes, bytes.Clone(data))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return classes, image.Close()
}

func sizeOf(classes [][]byte) int {
	total := 0
	for _, data := range classes {
		total += len(data)
	}
	return total
}
