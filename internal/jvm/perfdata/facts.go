package perfdata

import (
	"fmt"
	"strings"
	"time"
)

// JavaVersion is the version of the JDK, such as 17.0.15.
func (c *Counters) JavaVersion() string { return c.texts["java.property.java.version"] }

// VMName is what the JVM calls itself, such as "OpenJDK 64-Bit Server VM".
func (c *Counters) VMName() string { return c.texts["java.property.java.vm.name"] }

// VMVendor is who built the JVM.
func (c *Counters) VMVendor() string { return c.texts["java.property.java.vm.vendor"] }

// Command is the main class or jar and the program's arguments, joined by
// spaces that cannot be told from spaces in them.
func (c *Counters) Command() string { return c.texts["sun.rt.javaCommand"] }

// maxText is where HotSpot cuts texts off.
const maxText = 1024

// Arguments are the JVM's options from all their sources, joined by spaces.
// Options of many words are cut off, which complete tells.
func (c *Counters) Arguments() (text string, complete bool) {
	text, ok := c.texts["java.rt.vmArgs"]
	return text, ok && len(text) < maxText-1
}

// Flags are the options the JVM took from a file named by -XX:Flags.
func (c *Counters) Flags() string { return c.texts["java.rt.vmFlags"] }

// AttachEnabled tells whether the JVM answers to the attach protocol; known is
// false where it does not say.
func (c *Counters) AttachEnabled() (enabled, known bool) {
	capabilities := c.texts["sun.rt.jvmCapabilities"]
	if capabilities == "" {
		return false, false
	}
	switch capabilities[0] {
	case '1':
		return true, true
	case '0':
		return false, true
	}
	return false, false
}

// Started is when the JVM began to start, by its own wall clock.
func (c *Counters) Started() (time.Time, bool) {
	millis, ok := c.numbers["sun.rt.createVmBeginTime"]
	if !ok || millis <= 0 {
		return time.Time{}, false
	}
	return time.UnixMilli(millis), true
}

// A Heap is the size of the Java heap in bytes; 0 is not known.
type Heap struct{ Used, Max int64 }

// Heap is the heap as last published: by most collectors after a collection
// only, so before the first one what is used may not be known.
func (c *Counters) Heap() Heap {
	const generations, spaces = 2, 5 // no collector has more
	var h Heap
	// Collectors with fixed generations, which have policies named such as
	// "Copy:MSC", share the heap out. In all others each may have all of it.
	shared := strings.Contains(c.texts["sun.gc.policy.name"], ":")
	for g := range generations {
		prefix := fmt.Sprintf("sun.gc.generation.%d.", g)
		limit := c.size(prefix + "maxCapacity")
		if shared {
			h.Max += limit
		} else {
			h.Max = max(h.Max, limit)
		}
		for s := range spaces {
			h.Used += c.size(fmt.Sprintf("%sspace.%d.used", prefix, s))
		}
	}
	// G1 of JDK 17 publishes a few bytes more, to keep tools from dividing by
	// nothing.
	const page = 4096
	h.Max -= h.Max % page
	return h
}

// size is a number of bytes, 0 where none is published or no memory has it.
func (c *Counters) size(name string) int64 {
	const most = 1 << 56
	if n := c.numbers[name]; n > 0 && n < most {
		return n
	}
	return 0
}
