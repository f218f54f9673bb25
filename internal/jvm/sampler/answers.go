package sampler

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Running is a recording of the JVM, by JFR.check.
type Running struct {
	ID    int
	Name  string
	State string // such as running or stopped
}

// recordingLine begins what JFR.check says of each recording. The name may hold
// anything but a line break; what follows it has a form of its own.
var recordingLine = regexp.MustCompile(`^Recording ([0-9]+): name=(.*?)((?: (?:duration|maxsize|maxage)=\S+)*) \(([a-z]+)\)$`)

// parseCheck reads the answer to JFR.check. known is false where the answer is in
// no form that is understood: then it says nothing about what runs.
func parseCheck(text string) (running []Running, known bool) {
	known = strings.Contains(text, "No available recordings")
	for line := range strings.Lines(text) {
		parts := recordingLine.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if parts == nil {
			continue
		}
		id, err := strconv.Atoi(parts[1])
		if err != nil {
			continue
		}
		known = true
		running = append(running, Running{ID: id, Name: parts[2], State: parts[4]})
	}
	return running, known
}

var (
	startedLine    = regexp.MustCompile(`(?m)^Started recording ([0-9]+)\.`)
	repositoryLine = regexp.MustCompile(`(?m)^Repository path: (/.*?)\r?$`)
	settingLine    = regexp.MustCompile(`\(jdk\.(ExecutionSample|NativeMethodSample)\)\s+\[([^\]]*)\]`)
	periodSetting  = regexp.MustCompile(`(?:^|,)period=([0-9]+) ?(ns|us|ms|s)(?:,|$)`)
)

// isStarted reads the answer to JFR.start.
func isStarted(text string) bool { return startedLine.MatchString(text) }

// parseRepository reads where the recorder writes from the answer to
// JFR.configure.
func parseRepository(text string) (path string, ok bool) {
	found := repositoryLine.FindStringSubmatch(text)
	if found == nil {
		return "", false
	}
	return found[1], true
}

// shortestPeriod reads from the answer to JFR.check verbose=true how often Java
// code is sampled, 0 where it does not say. The JVM takes the shortest of all
// that any recording asks for.
func shortestPeriod(text string) (shortest time.Duration) {
	for _, setting := range settingLine.FindAllStringSubmatch(text, -1) {
		if setting[1] != "ExecutionSample" || !strings.Contains(","+setting[2]+",", ",enabled=true,") {
			continue
		}
		written := periodSetting.FindStringSubmatch(setting[2])
		if written == nil {
			continue
		}
		period, err := time.ParseDuration(written[1] + written[2])
		if err == nil && period > 0 && (shortest == 0 || period < shortest) {
			shortest = period
		}
	}
	return shortest
}

// missing says why a JVM has no recorder, by what it answers to any command of
// it; "" where nothing says so.
func missing(text string) string {
	switch {
	case strings.Contains(text, "Module jdk.jfr not found"):
		return "its run-time image lacks the module jdk.jfr: add it with jlink --add-modules jdk.jfr"
	case strings.Contains(text, "Flight Recorder is disabled"):
		return "it was switched off (-XX:-FlightRecorder): start it without that option"
	case strings.Contains(text, "Unknown diagnostic command"):
		return "it does not know the commands of one"
	case strings.Contains(text, "Flight Recorder can not be enabled"):
		return firstLine(text)
	}
	return ""
}

// firstLine is what of an answer is shown: its first line that says something.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return "no answer"
}
