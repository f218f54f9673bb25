package doctor

import (
	"fmt"
	"strings"
)

func (j *judge) agents() {
	for _, a := range j.facts.Agents {
		came := "came after the start"
		if a.AtStart {
			came = "was there from the start"
		}
		text := fmt.Sprintf("%s is inside: it %s, and %s (%s)", a.Name, came, a.Trait, a.Path)
		switch a.Trait {
		case Redefines:
			j.find(Warn, "other agents", text, "use it and Sonde one after the other: each may undo what the other has changed")
		case Transforms:
			j.find(Note, "other agents", text+"; what it has changed is kept", "")
		case Debugs:
			j.find(Note, "other agents", text+"; a thread stopped at a breakpoint in a hook holds Sonde up", "")
		default:
			j.find(OK, "other agents", text, "")
		}
	}
}

func (j *judge) containment() {
	jvm := j.facts.JVM
	var own []string
	if jvm.OtherPIDs {
		own = append(own, fmt.Sprintf("processes (it sees itself as %d)", jvm.NamespacePID))
	}
	if jvm.OtherMounts {
		own = append(own, "files")
	}
	if len(own) > 0 {
		j.find(OK, "container", "it has a namespace of its own for "+strings.Join(own, " and "), "")
	}
	m := j.facts.Memory
	if m.Limit == 0 {
		return
	}
	left := m.Limit - m.Used
	text := fmt.Sprintf("%s of its limit of %s are left", size(left), size(m.Limit))
	if left < roomForArena || left < m.Limit/20 {
		j.find(Warn, "memory", text+": what Sonde maps counts, and the kernel kills what goes over", "raise the limit, or watch fewer methods")
		return
	}
	j.find(OK, "memory", text, "")
}

// roomForArena is what a session of many methods and threads takes.
const roomForArena = 128 << 20

func (j *judge) places() {
	tmp, shm := j.facts.Tmp, j.facts.Shm
	switch {
	case !tmp.Known:
		j.find(Stop, "/tmp", "it has none that can be reached", "give it one that its user can write")
	case tmp.ReadOnly:
		j.find(Stop, "/tmp", "it is read-only", "mount one that its user can write")
	case tmp.NoExec:
		j.find(OK, "/tmp", "writable; that nothing in it can be executed does not matter", "")
	default:
		j.find(OK, "/tmp", "writable", "")
	}
	roomy := func(p Place) bool { return p.Known && !p.ReadOnly && p.Free >= 2*roomForArena }
	switch {
	case roomy(shm):
		j.find(OK, "arena", fmt.Sprintf("/dev/shm has room, %s of %s", size(shm.Free), size(shm.Size)), "")
	case roomy(tmp):
		text := "it has no /dev/shm to write to"
		if shm.Known && !shm.ReadOnly {
			text = fmt.Sprintf("its /dev/shm has %s of %s left", size(shm.Free), size(shm.Size))
		}
		j.find(Note, "arena", text+": measurements go to /tmp, where a slow disk may make the program wait",
			"give it a larger /dev/shm (docker --shm-size)")
	case tmp.Known && !tmp.ReadOnly:
		j.find(Warn, "arena", fmt.Sprintf("neither its /dev/shm nor its /tmp has much room, %s and %s: little can be measured at once",
			size(shm.Free), size(tmp.Free)), "make room, or give it a larger /dev/shm (docker --shm-size)")
	}
}

func (j *judge) virtualThreads() {
	const since = 21
	if j.version.Feature >= since {
		j.find(OK, "virtual threads", "this JDK has them, and they are measured as all others are", "")
	}
}

// size is a number of bytes as people say it.
func size(n int64) string {
	n = max(n, 0)
	const step = 1024
	value, units := float64(n), []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	unit := 0
	for value >= step && unit < len(units)-1 {
		value /= step
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d %s", n, units[0])
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}
