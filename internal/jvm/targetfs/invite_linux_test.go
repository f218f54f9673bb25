package targetfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// leavesTicket writes a ticket as an agent in the guest would.
func (g guest) leavesTicket(t *testing.T, text string) (path string) {
	t.Helper()
	path = g.seen("/tmp/" + process.TicketName(g.jvm.NamespacePID))
	if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Lchown(path, int(g.jvm.UID), int(g.jvm.GID))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(path) })
	return path
}

func TestInvite(t *testing.T) {
	for name, wrap := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			g := startGuest(t, oldest(t), wrap)
			f := mustMake(t, g.jvm)
			if err := f.Invite(t.Context(), "/s"); !errors.Is(err, ErrNoStandby) || HasStandby(g.jvm) {
				t.Errorf("without a ticket: %v", err)
			}
			ticket := random(32)
			g.leavesTicket(t, ticket+"\n")
			if found, err := Find(g.jvm); err != nil || !found.Standby || !HasStandby(g.jvm) || inspect(t, g.jvm.PID).Inside != process.Standby {
				t.Errorf("%+v, %v", found, err)
			}
			if _, err := fmt.Fprintln(g.Stdin, "take"); err != nil {
				t.Fatal(err)
			}
			if err := f.Invite(t.Context(), "/tmp/x/session"); err != nil {
				t.Error(err)
			}
			if got := g.Await(t, "did "); got != "did "+ticket+"|/tmp/x/session" {
				t.Error(got)
			}
			left, err := filepath.Glob(g.seen("/tmp/.sonde_invite*"))
			if err != nil || name != "ours" && name != "nobody's" && len(left) > 0 {
				t.Errorf("%v, %v", left, err)
			}
		})
	}
}

// TestInvitationsInTurn: one that is on its way is not overwritten.
func TestInvitationsInTurn(t *testing.T) {
	g := startGuest(t, oldest(t), nil)
	g.leavesTicket(t, random(32))
	results := make(chan error)
	for i := range 2 {
		f := mustMake(t, g.jvm)
		go func() { results <- f.Invite(t.Context(), fmt.Sprintf("/%d", i)) }()
	}
	first, second := g.does(t, "take"), g.does(t, "take")
	if err := errors.Join(<-results, <-results); err != nil || first[32:] == second[32:] {
		t.Errorf("%s, %s, %v", first, second, err)
	}
}

func TestNotTaken(t *testing.T) {
	g := startGuest(t, oldest(t), nil)
	f := mustMake(t, g.jvm)
	g.leavesTicket(t, random(32))
	name := filepath.Join("/tmp", invitation(g.jvm.NamespacePID))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := f.Invite(ctx, "/s"); !errors.Is(err, ErrNotTaken) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
	isGone(t, name)
	// Someone else's in the way is left alone.
	if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(name) })
	if err := f.Invite(ctx, "/s"); !errors.Is(err, ErrNotTaken) {
		t.Errorf("%v", err)
	}
	holdsText(t, name, "x")
	if left, err := filepath.Glob(name + "-*"); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	g.end()
	if err := f.Invite(t.Context(), "/s"); !errors.Is(err, ErrGone) {
		t.Errorf("gone: %v", err)
	}
}

// TestFalseTickets: what is not the target's own, or not whole, is no ticket.
func TestFalseTickets(t *testing.T) {
	jvmtest.AsNobody(t) // or skip
	g := startGuest(t, oldest(t), nil)
	f := mustMake(t, g.jvm)
	secret := random(32)
	for name, spoil := range map[string]func(path string) error{
		"another's": func(path string) error { return os.Chown(path, nobody, nobody) },
		"open":      func(path string) error { return os.Chmod(path, 0o644) },
		"short":     func(path string) error { return os.Truncate(path, 31) },
		"long":      func(path string) error { return os.WriteFile(path, []byte(secret+"0"), 0o600) },
		"empty":     func(path string) error { return os.Truncate(path, 0) },
		"link": func(path string) error {
			return errors.Join(os.Rename(path, path+"-real"), os.Symlink(path+"-real", path))
		},
		"directory": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	} {
		path := g.leavesTicket(t, secret)
		if err := spoil(path); err != nil {
			t.Fatal(err)
		}
		if err := f.Invite(t.Context(), "/s"); HasStandby(g.jvm) || !errors.Is(err, ErrNoStandby) {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(path + "-real")
	}
	old := g.leavesTicket(t, secret)
	before := g.jvm.Started.Add(-time.Hour)
	if err := os.Chtimes(old, before, before); err != nil || HasStandby(g.jvm) {
		t.Errorf("of an earlier process: %v", err)
	}
}

// TestInviteWhereOthersCouldChangeIt: the agent would not believe it, so that nobody waits for it.
func TestInviteWhereOthersCouldChangeIt(t *testing.T) {
	g := startGuest(t, oldest(t), jvmtest.OtherNamespaces(t, "mode=0777"))
	f := mustMake(t, g.jvm)
	g.leavesTicket(t, random(32)+"\n")
	if err := f.Invite(t.Context(), "/s"); !errors.Is(err, ErrNotTaken) || !strings.Contains(err.Error(), "chmod +t") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
	if left, err := filepath.Glob(g.seen("/tmp/.sonde_invite*")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
