package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// tracedFrame finds a method with an offset into its code:
//
//	com/acme/Order.pay(I)V @57
//	com.acme.Order.pay(I)V+57
//	com.acme.Order.pay(int) @bci=57
var tracedFrame = regexp.MustCompile(`([^\s()]+)\.([^\s().]+)(\([^)]*\))(\S*?)(\s*@\s*bci=|\s*@\s*|\+)(\d+)\b`)

func (c *cacheShow) writeTrace(out io.Writer, e *cache.Entry) error {
	in := io.Reader(os.Stdin)
	if c.trace != "-" {
		file, err := os.Open(c.trace)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }() // only read
		in = file
	}
	lines := bufio.NewReader(in)
	mapped := 0
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			text, isMapped, mapErr := traceLine(strings.TrimRight(line, "\r\n"), e)
			if mapErr != nil {
				return mapErr
			}
			if isMapped {
				mapped++
			}
			_, _ = fmt.Fprintln(out, text)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.trace, err)
		}
	}
	if mapped == 0 {
		_, _ = fmt.Fprintf(c.err, "note: no frame of a woven method of %s, with an offset, is in %s\n", descriptor.ExternalName(e.Class), c.trace)
	}
	return nil
}

// traceLine gives a line with the offset that the original has.
func traceLine(line string, e *cache.Entry) (_ string, isMapped bool, err error) {
	at := tracedFrame.FindStringSubmatchIndex(line)
	if at == nil {
		return line, false, nil
	}
	part := func(n int) string { return line[at[2*n]:at[2*n+1]] }
	if descriptor.InternalName(part(1)) != e.Class {
		return line, false, nil
	}
	m := tracedMethod(e, part(2), part(3), part(4))
	if m == nil {
		return line, false, nil
	}
	woven, tooLarge := strconv.ParseUint(part(6), 10, 16)
	if tooLarge != nil {
		return line, false, nil //nolint:nilerr // it is no offset of code, but some other number
	}
	now := int(woven)
	shifts, err := m.Offsets.Map()
	if err != nil {
		return line, false, err
	}
	old, isOriginal := shifts.Old(now)
	remark := fmt.Sprintf("[woven: %d]", now)
	if !isOriginal {
		remark = fmt.Sprintf("[woven: %d, which weaving put in behind this]", now)
		if len(shifts) == 0 || now < int(shifts[0].New) {
			remark = fmt.Sprintf("[woven: %d, which weaving put in before this]", now)
		}
	}
	return line[:at[12]] + strconv.Itoa(old) + line[at[13]:] + "  " + remark, true, nil
}

// tracedMethod finds the method of a frame, which has its descriptor or the types of
// its parameters.
func tracedMethod(e *cache.Entry, name, parameters, result string) *cache.Method {
	if m := e.Method(name, parameters+result); m != nil {
		return wovenOnly(m)
	}
	wanted := strings.ReplaceAll(strings.Trim(parameters, "()"), " ", "")
	for i := range e.Methods {
		m := &e.Methods[i]
		parsed, err := descriptor.ParseMethod(m.Descriptor)
		if m.Name != name || err != nil {
			continue
		}
		var types []string
		for _, t := range parsed.Params() {
			types = append(types, t.Human())
		}
		if strings.Join(types, ",") == wanted {
			return wovenOnly(m)
		}
	}
	return nil
}

// wovenOnly is nil for a method that is as it was.
func wovenOnly(m *cache.Method) *cache.Method {
	if m.Woven {
		return m
	}
	return nil
}
