package process

import (
	"os"
	"slices"
	"testing"
)

func TestNumbers(t *testing.T) {
	for status, want := range map[string][]int{
		"Name:\tx\n":                  {7},
		"Name:\tx\nNSpid:\t7\t3\t1\n": {7, 3, 1},
		"NSpid:\t7\n":                 {7},
	} {
		if got := numbers(status, 7); !slices.Equal(got, want) {
			t.Errorf("%q: %v", status, got)
		}
	}
}

func TestProcesses(t *testing.T) {
	all, err := Local.Processes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(p Process) bool { return p.PID == os.Getpid() })
	if i < 0 || all[i].UID != uint32(os.Geteuid()) || all[i].Mounts == "" || !slices.Contains(all[i].Numbers, os.Getpid()) || len(all[i].Arenas) > 0 {
		t.Errorf("this test is not among %d as it should be", len(all))
	}
}

func TestNames(t *testing.T) {
	if !IsArena("/x/"+ArenaName(1, "0123456789abcdef")) || IsArena("sonde-1-x.arena") || IsArena("sonde-1-0123456789abcdef.arena2") {
		t.Error("arenas are not told by their names")
	}
	for text, want := range map[string]bool{
		"0123456789abcdef0123456789abcdef\n": true, "0123456789abcdef0123456789abcdef": true,
		"0123456789abcdef0123456789abcde": false, "0123456789ABCDEF0123456789abcdef": false, "": false,
		"0123456789abcdef0123456789abcdef\n\n": false,
	} {
		if ticket, ok := ParseTicket([]byte(text)); ok != want || ok && len(ticket) != 32 {
			t.Errorf("%q: %q, %v", text, ticket, ok)
		}
	}
}
