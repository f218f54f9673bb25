package launch

import (
	"slices"
	"testing"
	"time"
)

func TestWithAgent(t *testing.T) {
	for _, tt := range []struct{ words, environment, wantWords, wantEnvironment []string }{
		{[]string{"java", "-jar", "a.jar"}, []string{"A=1"}, []string{"java", "-javaagent:/a b.jar", "-jar", "a.jar"}, []string{"A=1"}},
		{[]string{"/jdk/bin/java"}, nil, []string{"/jdk/bin/java", "-javaagent:/a b.jar"}, nil},
		{[]string{"mvn", "java"}, []string{"A=1"}, []string{"mvn", "java"}, []string{"A=1", `JAVA_TOOL_OPTIONS="-javaagent:/a b.jar"`}},
		{[]string{"./java.sh"}, []string{"JAVA_TOOL_OPTIONS=-Xmx1g", "A=1"}, []string{"./java.sh"}, []string{`JAVA_TOOL_OPTIONS=-Xmx1g "-javaagent:/a b.jar"`, "A=1"}},
	} {
		words, environment, err := withAgent(tt.words, tt.environment, &AgentOption{Jar: "/a b.jar"})
		if err != nil || !slices.Equal(words, tt.wantWords) || !slices.Equal(environment, tt.wantEnvironment) {
			t.Errorf("%v, %v: %v, %v, %v", tt.words, tt.environment, words, environment, err)
		}
	}
}

func TestHoldOption(t *testing.T) {
	for hold, want := range map[time.Duration]string{
		0: "-javaagent:/a.jar", time.Millisecond: "-javaagent:/a.jar=hold=1,by=7", 30 * time.Second: "-javaagent:/a.jar=hold=30,by=7",
	} {
		if got, err := (&AgentOption{Jar: "/a.jar", Hold: hold, By: 7}).word(); got != want || err != nil {
			t.Errorf("%v: %s, %v, want %s", hold, got, err, want)
		}
	}
}

func TestMark(t *testing.T) {
	mark, other := newMark(), newMark()
	env := withMark([]string{"A=1", other, "B=2"}, mark)
	if !slices.Equal(env, []string{"A=1", "B=2", mark}) || mark == other {
		t.Errorf("%v, %s", env, mark)
	}
}
