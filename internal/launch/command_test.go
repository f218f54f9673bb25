package launch

import (
	"slices"
	"testing"
	"time"
)

func TestWithAgent(t *testing.T) {
	for _, tt := range []struct{ words, environment, wantWords, wantEnvironment []string }{
		{[]string{"java", "-jar", "a.jar"}, []string{"A=1"}, []string{"java", "X", "-jar", "a.jar"}, []string{"A=1"}},
		{[]string{"/jdk/bin/java"}, nil, []string{"/jdk/bin/java", "X"}, nil},
		{[]string{"mvn", "java"}, []string{"A=1"}, []string{"mvn", "java"}, []string{"A=1", "JAVA_TOOL_OPTIONS=X"}},
		{[]string{"./java.sh"}, []string{"JAVA_TOOL_OPTIONS=-Xmx1g", "A=1"}, []string{"./java.sh"}, []string{"JAVA_TOOL_OPTIONS=-Xmx1g X", "A=1"}},
	} {
		words, environment := withAgent(tt.words, tt.environment, "X")
		if !slices.Equal(words, tt.wantWords) || !slices.Equal(environment, tt.wantEnvironment) {
			t.Errorf("%v, %v: %v, %v", tt.words, tt.environment, words, environment)
		}
	}
}

func TestOption(t *testing.T) {
	for hold, want := range map[time.Duration]string{
		0: "-javaagent:/a.jar", time.Millisecond: "-javaagent:/a.jar=hold=1", 30 * time.Second: "-javaagent:/a.jar=hold=30",
	} {
		if got := option("/a.jar", hold); got != want {
			t.Errorf("%v: %s, want %s", hold, got, want)
		}
	}
}
