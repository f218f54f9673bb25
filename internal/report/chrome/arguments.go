package chrome

import "github.com/sonde-jvm/sonde/internal/measure/trace"

// arguments are what a viewer shows of a slice that is picked. Most have none:
// speedscope takes slices of one name for one method only where these are the same.
func arguments(c *trace.Call) map[string]any {
	args := map[string]any{}
	for name, is := range map[string]bool{"threw": c.Threw, "no end seen": c.Cut, "handed over": c.Handed, "conditional": c.Conditional} {
		if is {
			args[name] = true
		}
	}
	for tag, value := range c.Tags {
		args["tag "+tag] = value
	}
	if c.Omitted.Calls > 0 {
		args["calls not kept each"] = c.Omitted.Calls
	}
	for _, v := range c.Values {
		name := v.Expression
		if v.AtExit {
			name = "exit " + name
		}
		args[name] = valueOf(v)
	}
	return args
}

func valueOf(v trace.Value) any {
	switch {
	case v.Redacted && v.Text == "":
		return trace.Mask
	case v.Failed:
		return "(failed)"
	case v.Null:
		return nil
	case v.Cut:
		return v.Text + "…"
	}
	return v.Text
}
