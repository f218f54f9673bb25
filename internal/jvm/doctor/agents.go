package doctor

import (
	"path"
	"slices"
	"strings"
)

// knownAgents are tools recognised by parts of their file names, in lower case. If the name is
// unique, an open file proves that the agent is active. Others are also libraries on the class paths of
// programs, so only an option that loads them counts.
var knownAgents = []struct {
	name   string
	trait  Trait
	unique bool
	marks  []string
}{
	{"async-profiler", Samples, true, []string{"libasyncprofiler", "async-profiler"}},
	{"Glowroot", Transforms, true, []string{"glowroot.jar", "glowroot-core", "glowroot-agent"}},
	{"SkyWalking", Transforms, true, []string{"skywalking-agent"}},
	{"OpenTelemetry", Transforms, true, []string{"opentelemetry-javaagent"}},
	{"Datadog", Transforms, true, []string{"dd-java-agent"}},
	{"New Relic", Transforms, false, []string{"newrelic"}},
	{"Dynatrace", Transforms, true, []string{"liboneagent", "dynatrace-agent"}},
	{"AppDynamics", Transforms, false, []string{"appdynamics", "appserveragent", "appagent"}},
	{"Elastic APM", Transforms, true, []string{"elastic-apm-agent", "elastic-otel-javaagent"}},
	{"Instana", Transforms, false, []string{"instana"}},
	{"Pinpoint", Transforms, false, []string{"pinpoint-bootstrap"}},
	{"Application Insights", Transforms, false, []string{"applicationinsights-agent"}},
	{"AspectJ", Transforms, false, []string{"aspectjweaver"}},
	{"JaCoCo", Transforms, false, []string{"jacocoagent", "org.jacoco.agent"}},
	{"YourKit", Transforms, true, []string{"libyjpagent"}},
	{"JProfiler", Transforms, true, []string{"libjprofilerti"}},
	{"Arthas", Redefines, true, []string{"arthas-agent", "arthas-core", "arthas-spy", "libarthas"}},
	{"BTrace", Redefines, true, []string{"btrace-agent", "btrace-boot", "btrace.jar"}},
	{"Byteman", Redefines, true, []string{"byteman.jar", "byteman-4", "byteman-5"}},
	{"JRebel", Redefines, false, []string{"jrebel"}},
	{"HotswapAgent", Redefines, false, []string{"hotswap-agent"}},
	{"Prometheus JMX exporter", Samples, false, []string{"jmx_prometheus_javaagent"}},
	{"Jolokia", Samples, false, []string{"jolokia"}},
	{"debugger (jdwp)", Debugs, true, []string{"libjdwp"}},
}

// recognise finds the tool that a file belongs to, by the name of the file. The name of the directory
// counts for an agent.jar.
func recognise(file string) (agent Agent, unique, known bool) {
	dir, base := path.Split(strings.ToLower(file))
	// The directory of another file may be that of the program's jars.
	names := []string{base}
	if base == "agent.jar" || base == "javaagent.jar" {
		names = append(names, path.Base(dir))
	}
	for _, known := range knownAgents {
		for _, mark := range known.marks {
			if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, mark) }) {
				return Agent{Name: known.name, Trait: known.trait, Path: file}, known.unique, true
			}
		}
	}
	return Agent{}, false, false
}

// agentOf parses an option that loads an agent.
func agentOf(option string) (Agent, bool) {
	for _, kind := range []string{"-javaagent:", "-agentpath:", "-agentlib:"} {
		value, is := strings.CutPrefix(option, kind)
		if !is {
			continue
		}
		file, _, _ := strings.Cut(value, "=")
		if kind == "-agentlib:" {
			file = "lib" + file + ".so"
		}
		agent, _, known := recognise(file)
		if !known {
			agent = Agent{Name: path.Base(file), Trait: Transforms, Path: file}
		}
		agent.AtStart = true
		return agent, true
	}
	return Agent{}, false
}

// isSonde reports whether a file is one of Sonde's own.
func isSonde(file string) bool {
	return strings.HasPrefix(path.Base(file), "sonde") || strings.Contains(file, "/.sonde")
}

// findAgents returns each tool once: from the options that load agents, then from the mapped and open
// files of the process.
func findAgents(options, files []string) []Agent {
	var found []Agent
	add := func(a Agent) {
		if !isSonde(a.Path) && !slices.ContainsFunc(found, func(f Agent) bool { return f.Name == a.Name }) {
			found = append(found, a)
		}
	}
	for _, option := range options {
		if agent, is := agentOf(option); is {
			add(agent)
		}
	}
	for _, file := range files {
		extension := path.Ext(file)
		if extension != ".jar" && extension != ".so" {
			continue
		}
		if agent, unique, _ := recognise(file); unique {
			add(agent)
		}
	}
	return found
}
