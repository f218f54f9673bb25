package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A program is an application that can be started.
type program struct {
	name    string
	own     []string // internal names of its own classes begin so
	prepare func(ctx context.Context, jdk jvmtest.JDK, folder string, o options) (application, error)
}

// An application is a program made ready to be started on a JDK.
type application struct {
	program
	jdk       jvmtest.JDK
	jars      []string // with its own classes
	arguments []string // of java
	page      string   // it is ready when it has answered with a page that holds this; if "", when it says so
}

var programs = []program{
	{name: "tomcat", own: []string{"org/apache/", "org/h2/", "org/eclipse/jdt/"}, prepare: prepareTomcat},
	{name: "jruby", own: []string{"org/jruby/", "org/joni/", "org/jcodings/"}, prepare: prepareJRuby},
}

// tomcatJars are what Tomcat 10 needs, with pages, which the compiler of Eclipse compiles.
var tomcatJars = []string{
	"tomcat10-catalina", "tomcat10-coyote", "tomcat10-util", "tomcat10-util-scan", "tomcat10-juli", "tomcat10-api", "tomcat10-jni",
	"tomcat10-servlet-api", "tomcat10-jsp-api", "tomcat10-el-api", "tomcat10-annotations-api", "tomcat10-jaspic-api",
	"tomcat10-jasper", "tomcat10-jasper-el", "eclipse-jdt-core",
}

// prepareTomcat compiles the server and lays out the web application, with H2 among its libraries.
func prepareTomcat(ctx context.Context, jdk jvmtest.JDK, folder string, o options) (application, error) {
	jars, err := find(o.jars, tomcatJars, "libtomcat10-java")
	if err != nil {
		return application{}, err
	}
	h2, err := find(o.jars, []string{"h2"}, "libh2-java")
	if err != nil {
		return application{}, err
	}
	sources := filepath.Join(o.sources, "tomcat")
	webapp, server := filepath.Join(folder, "webapp"), filepath.Join(folder, "server")
	if err := os.CopyFS(webapp, os.DirFS(filepath.Join(sources, "webapp"))); err != nil {
		return application{}, fmt.Errorf("%w: run from the top of the repository, or name the folder by -sources", err)
	}
	if err := copyFile(filepath.Join(webapp, "WEB-INF", "lib", "h2.jar"), h2[0]); err != nil {
		return application{}, err
	}
	classes := filepath.Join(webapp, "WEB-INF", "classes")
	if err := compile(ctx, jdk, server, filepath.Join(sources, "server"), jars); err != nil {
		return application{}, err
	}
	if err := compile(ctx, jdk, classes, filepath.Join(sources, "classes", "stock"), append(h2, jars...)); err != nil {
		return application{}, err
	}
	path := strings.Join(append([]string{server}, jars...), string(os.PathListSeparator))
	return application{
		jdk: jdk, jars: append(h2, jars...), page: "kind 6: 28 for ",
		arguments: []string{"-cp", path, "Server", webapp},
	}, nil
}

// prepareJRuby starts what the command jruby of Debian starts, without its shell script.
func prepareJRuby(_ context.Context, jdk jvmtest.JDK, _ string, o options) (application, error) {
	const home = "/usr/share/jruby"
	jar := filepath.Join(home, "lib", "jruby.jar")
	if _, err := os.Stat(jar); err != nil {
		return application{}, fmt.Errorf("%w: install the Debian package jruby", err)
	}
	script, err := filepath.Abs(filepath.Join(o.sources, "jruby", "ready.rb"))
	if err != nil {
		return application{}, err
	}
	arguments := []string{
		"-Xss2048k", "-Djava.security.egd=file:/dev/urandom", "-Djffi.boot.library.path=" + filepath.Join(home, "lib", "jni"),
		"--add-opens=java.base/java.io=ALL-UNNAMED", "--add-opens=java.base/java.nio.channels=ALL-UNNAMED",
		"--add-opens=java.base/sun.nio.ch=ALL-UNNAMED", "--add-opens=java.management/sun.management=ALL-UNNAMED",
		"-Djruby.openssl.load.jars=false", "-Djruby.home=" + home, "-Djruby.lib=" + filepath.Join(home, "lib"),
		"-cp", jar, "org.jruby.Main", script,
	}
	return application{jdk: jdk, jars: []string{jar}, arguments: arguments}, nil
}

// find is where jars of a folder are.
func find(folder string, names []string, debian string) ([]string, error) {
	var jars []string
	for _, name := range names {
		jar := filepath.Join(folder, name+".jar")
		if _, err := os.Stat(jar); err != nil {
			return nil, fmt.Errorf("%w: install the Debian package %s, or name the folder by -jars", err, debian)
		}
		jars = append(jars, jar)
	}
	return jars, nil
}

// compile makes the classes of all sources in one folder.
func compile(ctx context.Context, jdk jvmtest.JDK, into, sources string, path []string) error {
	files, err := filepath.Glob(filepath.Join(sources, "*.java"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no Java sources in %s: run from the top of the repository, or name the folder by -sources", sources)
	}
	args := append([]string{"--release", "17", "-proc:none", "-d", into, "-cp", strings.Join(path, string(os.PathListSeparator))}, files...)
	if out, err := exec.CommandContext(ctx, jdk.Tool("javac"), args...).CombinedOutput(); err != nil {
		return fmt.Errorf("javac: %w\n%s", err, out)
	}
	return nil
}

func copyFile(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}
