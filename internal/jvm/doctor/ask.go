package doctor

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
)

// An Asker is a JVM that answers commands: an *attach.Conn.
type Asker interface {
	Execute(ctx context.Context, command string, args ...string) (attach.Reply, error)
}

// ask has the JVM tell its flags and properties; none of the commands changes
// anything.
func (f *Facts) ask(ctx context.Context, jvm Asker) error {
	text := map[string]string{}
	for _, command := range []string{"VM.command_line", "VM.flags", "VM.system_properties"} {
		reply, err := jvm.Execute(ctx, "jcmd", command)
		if err != nil {
			return err
		}
		if reply.Code != 0 {
			return fmt.Errorf("process %d: it answered %s with code %d", f.JVM.PID, command, reply.Code)
		}
		text[command] = reply.Text
	}
	f.Asked = true
	f.Arguments = parseCommandLine(text["VM.command_line"])
	f.Flags = parseFlags(text["VM.flags"])
	f.Properties = parseProperties(text["VM.system_properties"])
	return nil
}

func parseCommandLine(text string) []string {
	for line := range strings.Lines(text) {
		if words, is := strings.CutPrefix(line, "jvm_args:"); is {
			return strings.Fields(words)
		}
	}
	return nil
}

// parseFlags reads words such as -XX:+UseG1GC and -XX:MaxHeapSize=64. The JVM
// lists the flags that are not as usual, those too that it must first be told
// to unlock.
func parseFlags(text string) map[string]string {
	flags := map[string]string{}
	for _, word := range strings.Fields(text) {
		option, is := strings.CutPrefix(word, "-XX:")
		if !is {
			continue
		}
		name, value, hasValue := strings.Cut(option, "=")
		switch {
		case hasValue:
			flags[name] = value
		case strings.HasPrefix(option, "+"):
			flags[option[1:]] = "true"
		case strings.HasPrefix(option, "-"):
			flags[option[1:]] = "false"
		}
	}
	return flags
}

// parseProperties reads lines as java.util.Properties stores them: one for each
// property, : = # ! and white space behind a backslash.
func parseProperties(text string) map[string]string {
	properties := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		var parts [2]strings.Builder
		at := 0
		for i := 0; i < len(line); i++ {
			switch b := line[i]; {
			case b == '\\' && i+1 < len(line):
				i++
				i += unescape(&parts[at], line[i:])
			case b == '=' && at == 0:
				at = 1
			default:
				parts[at].WriteByte(b)
			}
		}
		if at == 1 {
			properties[parts[0].String()] = parts[1].String()
		}
	}
	return properties
}

// unescape adds what the text after a backslash stands for and returns how many
// bytes beyond the first it took.
func unescape(part *strings.Builder, rest string) int {
	const digits = 4
	switch b := rest[0]; b {
	case 'n':
		part.WriteByte('\n')
	case 'r':
		part.WriteByte('\r')
	case 't':
		part.WriteByte('\t')
	case 'f':
		part.WriteByte('\f')
	case 'u':
		if len(rest) > digits {
			if code, err := strconv.ParseUint(rest[1:1+digits], 16, 16); err == nil {
				part.WriteRune(rune(code))
				return digits
			}
		}
		part.WriteByte(b)
	default:
		part.WriteByte(b)
	}
	return 0
}
