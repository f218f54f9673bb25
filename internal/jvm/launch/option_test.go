package launch

import "testing"

func TestWithOption(t *testing.T) {
	for have, want := range map[string]string{
		"":                                    "X",
		" \t ":                                "X",
		"-Xmx1g  -Dx=y":                       "-Xmx1g -Dx=y X",
		`-Da="b c" '-Dd=e  f'`:                `-Da="b c" '-Dd=e  f' X`,
		`-Da="b c`:                            `-Da="b c" X`,
		"-Da=b\u00a0c":                        "-Da=b\u00a0c X",
		"-javaagent:/a/sonde-agent.jar -Da=b": "-Da=b X",
		`"-javaagent:/a b/sonde-agent-0123.jar=pack=/x" -javaagent:/other.jar=sonde-agent.jar`: "-javaagent:/other.jar=sonde-agent.jar X",
	} {
		if got := WithOption(have, "X"); got != want {
			t.Errorf("%q: %q, want %q", have, got, want)
		}
	}
}
