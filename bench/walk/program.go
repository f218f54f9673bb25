package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/sonde-jvm/sonde/bench/driver"
	"github.com/sonde-jvm/sonde/bench/twin"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A subject is a program to be walked.
type subject struct {
	name       string
	work       string   // the Java class
	operations []string // what counts as one
}

const h2Jar = "/usr/share/java/h2.jar"

var subjects = []subject{
	{name: "H2", work: "H2Work", operations: []string{
		"org/h2/jdbc/JdbcPreparedStatement.executeQuery()Ljava/sql/ResultSet;", "org/h2/jdbc/JdbcPreparedStatement.executeUpdate()I",
	}},
	{name: "orders", work: "Orders", operations: []string{"orders"}},
}

// compile builds all subjects into a folder.
func compile(jdk jvmtest.JDK, folder string) error {
	arguments := []string{
		"-nowarn", "-d", folder, "-cp", h2Jar, "test/realprograms/testdata/RealProgram.java", "test/realprograms/testdata/H2Work.java",
	}
	sources, _ := filepath.Glob("bench/walk/java/*.java") // the pattern is well formed
	out, err := exec.Command(jdk.Tool("javac"), append(arguments, sources...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("javac (run from the top of the repository, after .ci/setup live): %w\n%s", err, out)
	}
	return nil
}

func (s subject) start(jdk jvmtest.JDK, classes string) (*driver.Program, error) {
	arguments := []string{"-Xms512m", "-Xmx512m", "-XX:+UseSerialGC", "-cp", classes + ":" + h2Jar, "Paced", s.work}
	return driver.Start(jdk, append(arguments, s.operations...)...)
}

// A paced is a program that tells how far it is.
type paced struct{ *driver.Program }

// Progress asks the program.
func (p paced) Progress() (twin.Progress, error) {
	numbers, err := p.Ask("now")
	if err != nil {
		return twin.Progress{}, err
	}
	if len(numbers) != 2 {
		return twin.Progress{}, fmt.Errorf("the program answered by %d numbers", len(numbers))
	}
	return twin.Progress{Done: numbers[0], CPU: time.Duration(numbers[1])}, nil
}

func startPair(ctx context.Context, jdk jvmtest.JDK, s subject, classes string) (*twin.Pair[paced], error) {
	return twin.Start(ctx, func(string) (paced, error) {
		program, err := s.start(jdk, classes)
		return paced{program}, err
	})
}
