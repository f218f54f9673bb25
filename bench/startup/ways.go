package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A way is one to start an application.
type way struct {
	key, name string
	options   func(folder string) []string                  // of java, for a start in a folder
	account   func(folder string, s start) (account, error) // what it wove; nil where nothing
	pack      *pack                                         // that it weaves from, or nil
	starts    []start
	accounts  []account
}

// An account is what was woven in a start, by the word of who wove.
type account struct {
	Classes, Methods int
	Calls            uint64 // of woven methods, until the application ended
}

// The ways, in the order of the report.
const (
	plain   = "plain"
	empty   = "empty"
	looking = "looking"
	able    = "able"
	packed  = "pack"
	byASM   = "asm"
	byBuddy = "buddy"
)

var (
	allWays   = append(slices.Clone(usualWays), byBuddy)
	usualWays = []string{plain, empty, looking, able, packed, byASM}
)

// waysToStart makes what the ways that are asked for need.
func waysToStart(ctx context.Context, a application, c choice, folder string, o options) ([]*way, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	asked := strings.Split(o.ways, ",")
	for _, key := range asked {
		if !slices.Contains(allWays, key) {
			return nil, fmt.Errorf("there is no way %q to start: -ways has %s", key, strings.Join(allWays, ", "))
		}
	}
	agents, err := makeAgents(ctx, a.jdk, folder, slices.Contains(asked, byBuddy), o)
	if err != nil {
		return nil, err
	}
	list, err := c.writeList(folder)
	if err != nil {
		return nil, err
	}
	p := new(pack)
	if slices.Contains(asked, packed) {
		if p, err = makePack(ctx, o.sonde, folder, a, c); err != nil {
			return nil, err
		}
	}
	ways := []*way{
		{key: plain, name: "plain", options: always()},
		{key: empty, name: "agent that does nothing", options: always("-javaagent:" + agents.empty)},
		{key: looking, name: "transformer that returns null", options: always("-javaagent:" + agents.null)},
		{key: able, name: "the same, could retransform", options: always("-javaagent:" + agents.null + "=able")},
		{key: packed, name: "Sonde's agent with the pack", pack: p, options: p.options, account: p.account},
		{key: byASM, name: "agent that weaves by ASM", options: always("-javaagent:" + agents.asm + "=" + list), account: accountOfASM},
		{key: byBuddy, name: "agent that weaves by Byte Buddy", options: always("-javaagent:" + agents.buddy + "=" + list), account: accountOfASM},
	}
	return slices.DeleteFunc(ways, func(w *way) bool { return w.key != plain && !slices.Contains(asked, w.key) }), nil
}

func always(options ...string) func(string) []string {
	return func(string) []string { return options }
}

// writeList writes what the agents that weave by ASM and by Byte Buddy read: of each class how many methods
// are woven, and their names where not all are.
func (c *choice) writeList(folder string) (path string, err error) {
	var text strings.Builder
	for _, class := range c.classes {
		fmt.Fprintln(&text, strings.Join(append([]string{class.name, strconv.Itoa(class.methods)}, class.names...), " "))
	}
	path = filepath.Join(folder, "classes.txt")
	return path, os.WriteFile(path, []byte(text.String()), 0o644)
}

// accountOfASM is what its agent printed last, or Byte Buddy's.
func accountOfASM(_ string, s start) (a account, err error) {
	for line := range strings.Lines(s.errors) {
		if strings.HasPrefix(line, "asm-agent failed") {
			return a, fmt.Errorf("weaving by ASM: %s", strings.TrimSpace(line))
		}
		if strings.HasPrefix(line, "asm-agent ") {
			_, err = fmt.Sscanf(line, "asm-agent %d %d %d", &a.Classes, &a.Methods, &a.Calls)
			return a, err
		}
	}
	return a, fmt.Errorf("the agent that weaves by ASM gave no account: %s", lastLines(s.errors))
}

func (p *pack) options(folder string) []string {
	return []string{"-javaagent:" + p.agent + "=pack=" + p.file + ",arena=" + arenaIn(folder)}
}

func arenaIn(folder string) string { return filepath.Join(folder, "sonde.arena") }

// account reads what the agent left in the arena.
func (p *pack) account(folder string, _ start) (account, error) {
	file, err := os.Open(arenaIn(folder))
	if err != nil {
		return account{}, fmt.Errorf("%w: the agent did not take the pack", err)
	}
	defer func() { _ = file.Close() }()
	opened, err := arena.Open(file, false)
	if err != nil {
		return account{}, err
	}
	defer func() { _ = opened.Close() }()
	told, has, err := opened.Account()
	if err != nil || !has {
		return account{}, fmt.Errorf("the arena has no account of the pack: %w", err)
	}
	if left := told.Differs + told.Blind + told.Failed; left != 0 {
		return account{}, fmt.Errorf("%d classes of the pack were not woven: %v", left, told.Left)
	}
	sum, err := opened.Sum(time.Now().UnixNano())
	if err != nil {
		return account{}, err
	}
	a := account{Classes: int(told.Woven)}
	for _, totals := range sum.Methods {
		a.Calls += totals.Calls
	}
	// Which classes were woven is not told, only which were not; where all were, so were all methods.
	if a.Classes == p.classes {
		a.Methods = p.methods
	}
	return a, nil
}
