// Command build compiles the Java sources of the agent and writes the files that sonde embeds, agent/dist/*, reproducibly:
//
//	src                        → sonde-runtime.jar, for programs woven ahead
//	stub, control, hooks       → sonde-agent.jar, for running JVMs
//	live                       → live.class and others, templates woven in there
//
//	go run ./agent/build
//
// The results are committed, so that building sonde needs no JDK; a test
// rebuilds them and compares.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	agentDir := flag.String("agent", "agent", "the directory that holds the sources and dist")
	flag.Parse()
	if err := run(*agentDir); err != nil {
		fmt.Fprintln(os.Stderr, "agent/build:", err)
		os.Exit(1)
	}
}

func run(agentDir string) error {
	java, err := findJava()
	if err != nil {
		return err
	}
	built, err := products(java, agentDir)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(built)) {
		path := filepath.Join(agentDir, "dist", name)
		if err := os.WriteFile(path, built[name], 0o644); err != nil {
			return err
		}
		fmt.Printf("%s: %d bytes\n", path, len(built[name]))
	}
	return nil
}

// The jars, in dist.
const (
	runtimeJar = "sonde-runtime.jar"
	agentJar   = "sonde-agent.jar"
)

const runtimeManifest = "Manifest-Version: 1.0\r\nImplementation-Title: sonde-runtime\r\n\r\n"

const agentManifest = "Manifest-Version: 1.0\r\n" +
	"Agent-Class: sonde.agent.Stub\r\n" +
	"Can-Retransform-Classes: true\r\n" +
	"Implementation-Title: sonde-agent\r\n" +
	"Premain-Class: sonde.agent.Stub\r\n\r\n"

// liveTemplates are the templates for running JVMs. Each is a class with one template method, named like the class in lower
// case.
var liveTemplates = []string{
	"Live", "Reflect", "Handle",
	"Anchor", "Tag", "Keep", "Plain", "Watch", "Late", "Capture",
	"Carry", "Made", "Start", "Submit", "Withdraw", "Resume", "Again", "Fire", "Work", "Next",
}

// controlPrefix hides the control and hook classes from the program's own
// loader. The stub in a JVM looks for them here, whatever its version.
const controlPrefix = "META-INF/sonde/"

// products builds everything from the sources in agentDir.
func products(java, agentDir string) (folder, error) {
	c, err := newCompiler(java)
	if err != nil {
		return nil, err
	}
	defer c.close()
	sources := make(map[string]folder)
	for _, name := range []string{
		"src", "stub/src", "hooks/src", "hooks/src8", "hooks/stubs", "control/src8", "control/src9", "control/src17", "live/src",
	} {
		if sources[name], err = read(filepath.Join(agentDir, filepath.FromSlash(name)), ".java"); err != nil {
			return nil, err
		}
	}
	runtime, err := c.compile(module{release: 8, sources: sources["src"]})
	if err != nil {
		return nil, err
	}
	built := make(folder)
	if built[runtimeJar], err = pack(runtimeManifest, runtime, addEntry); err != nil {
		return nil, err
	}
	hooks := hookRename(sources["hooks/src"], sources["hooks/src8"], sources["hooks/stubs"])
	sources["hooks/stubs8"] = forJava8(sources["hooks/stubs"])
	sources["hooks/src8"].add("", forJava8(sources["hooks/src"]))
	for name := range sources {
		if name != "src" {
			sources[name] = rename(sources[name], hooks)
		}
	}
	stubs, err := c.compile(module{release: 8, sources: sources["hooks/stubs"]})
	if err != nil {
		return nil, err
	}
	hookClasses, err := c.compile(module{release: 8, sources: sources["hooks/src"], needs: stubs})
	if err != nil {
		return nil, err
	}
	stubs8, err := c.compile(module{release: 8, sources: sources["hooks/stubs8"]})
	if err != nil {
		return nil, err
	}
	hookClasses8, err := c.compile(module{release: 8, sources: sources["hooks/src8"], needs: stubs8})
	if err != nil {
		return nil, err
	}
	if built[agentJar], err = buildAgent(c, sources, stubs, hookClasses, hookClasses8, hooks); err != nil {
		return nil, err
	}
	needs := maps.Clone(runtime)
	needs.add("", hookClasses)
	live, err := c.compile(module{release: 8, sources: sources["live/src"], needs: needs})
	if err != nil {
		return nil, err
	}
	for _, name := range liveTemplates {
		class, ok := live["sonde/template/live/"+name+".class"]
		if !ok {
			return nil, fmt.Errorf("there is no template %s", name)
		}
		built[strings.ToLower(name)+".class"] = class
	}
	return built, nil
}

// java8Prefix is where the control classes find the hooks for Java 8.
const java8Prefix = "8/"

// buildAgent builds the agent's jar. The stubs stand for internal classes of java.base and are not packed.
func buildAgent(c *compiler, sources map[string]folder, stubs, hookClasses, hookClasses8 folder, hooks string) ([]byte, error) {
	stub, err := c.compile(module{release: 8, sources: sources["stub/src"]})
	if err != nil {
		return nil, err
	}
	control := maps.Clone(hookClasses)
	for _, part := range []struct {
		name    string
		release int
	}{{"control/src8", 8}, {"control/src9", 9}, {"control/src17", 17}} {
		needs := maps.Clone(control)
		if part.release == 8 { // later releases do not accept other classes in packages of java.base
			needs.add("", stubs)
		}
		classes, err := c.compile(module{release: part.release, sources: sources[part.name], needs: needs})
		if err != nil {
			return nil, err
		}
		control.add("", classes)
	}
	index, err := hookIndex(hookClasses, hooks)
	if err != nil {
		return nil, err
	}
	index8, err := hookIndex(hookClasses8, hooks)
	if err != nil {
		return nil, err
	}
	files := maps.Clone(stub)
	files.add(controlPrefix, control)
	files.add(controlPrefix+java8Prefix, hookClasses8)
	id := fmt.Appendln(nil, identity(files))
	files[controlPrefix+"build"] = slices.Concat(id, index)
	files[controlPrefix+java8Prefix+"build"] = slices.Concat(id, index8)
	return pack(agentManifest, files, addSized)
}

// identity names a build by a hash of its content.
func identity(files folder) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(sum, "%s %d\n%s", name, len(files[name]), files[name])
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:16])
}
