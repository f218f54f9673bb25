package arena

import (
	"errors"
	"slices"
	"testing"
)

// writeAccount writes into the account as the agent does.
func writeAccount(m memory, counts [4]uint32, text string) {
	at := uint64(m.u32(headerAccount)) * layoutUnit
	for i, n := range counts {
		m.put32(at+accountWoven+4*uint64(i), n)
	}
	copy(m[at+accountSize:], text)
	m.put32(at+accountNamesUsed, uint32(len(text)))
}

func TestAccount(t *testing.T) {
	a := newArena(t, 1<<18, 1<<18)
	if account, has, err := a.Account(); has || err != nil {
		t.Errorf("%+v, %v, %v where there is none", account, has, err)
	}
	for range 2 { // there is one
		if err := a.MakeAccount(); err != nil {
			t.Fatal(err)
		}
	}
	if used, _ := a.Room(); used != headerSize+accountSize+layoutAccountText {
		t.Errorf("%d bytes are used", used)
	}
	// The JVM allows names with line feeds in them.
	writeAccount(a.memory, [4]uint32{7, 2, 3, 1}, "differs a/B\nblind a/C\nfailed a/\nb D\ndiffers x/y z\n")
	account, has, err := a.Account()
	want := []Unwoven{{Differs, "a/B"}, {Blind, "a/C"}, {Failed, "a/"}, {Differs, "x/y z"}}
	if err != nil || !has || !slices.Equal(account.Left, want) {
		t.Errorf("%+v, %v, %v", account, has, err)
	}
	if account.Woven != 7 || account.Differs != 2 || account.Blind != 3 || account.Failed != 1 {
		t.Errorf("%+v", account)
	}
}

func TestADamagedAccountIsFound(t *testing.T) {
	for name, spoil := range map[string]func(m memory){
		"too much text":  func(m memory) { m.put32(uint64(m.u32(headerAccount))*layoutUnit+accountNamesUsed, layoutAccountText+1) },
		"outside":        func(m memory) { m.put32(headerAccount, 1<<18/layoutUnit-1) },
		"in the header":  func(m memory) { m.put32(headerAccount, 1) },
		"no room at all": func(m memory) { m.put64(headerLimit, 0) },
	} {
		a := newArena(t, 1<<18, 1<<18)
		if err := a.MakeAccount(); err != nil {
			t.Fatal(err)
		}
		spoil(a.memory)
		if account, _, err := a.Account(); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %+v, %v", name, account, err)
		}
	}
	if err := newArena(t, 1<<14, 1<<14).MakeAccount(); !errors.Is(err, ErrFull) {
		t.Errorf("where there is no room: %v", err)
	}
}

// TestAnImageBecomesAnArena does what the agent does with one.
func TestAnImageBecomesAnArena(t *testing.T) {
	for _, methods := range [][]Method{nil, {{ID: 7, Name: "a.B.c()V"}, {ID: 9, Name: "a.B.d()V"}}, make([]Method, 5000)} {
		image, err := NewImage(methods)
		if err != nil {
			t.Fatal(err)
		}
		again, err := NewImage(methods)
		if err != nil || !slices.Equal(again.Bytes, image.Bytes) {
			t.Errorf("the same methods make another image (%v)", err)
		}
		file := newFile(t, image.Length)
		p := image.Places
		m := memory(slices.Clone(image.Bytes))
		m.put32(uint64(p.Epoch), 5)
		m.put32(uint64(p.TargetPID), 4711)
		m.put64(uint64(p.TargetStart), 99)
		m.put64(uint64(p.OpenedWall), 17)
		m.put32(uint64(p.CommandLength), uint32(copy(m[p.Command:p.Command+p.CommandMost], "pack a.pack")))
		if _, err := file.WriteAt(m, 0); err != nil {
			t.Fatal(err)
		}
		a, err := Open(file, true)
		if err != nil {
			t.Fatal(err)
		}
		if owner, err := a.Owner(); err != nil || owner.Target != 4711 || owner.TargetStart != 99 || owner.Opened.UnixNano() != 17 || owner.Command != "pack a.pack" || owner.Sonde != 0 {
			t.Errorf("%+v, %v", owner, err)
		}
		if have, err := a.Methods(); err != nil || !slices.Equal(have, methods) {
			t.Errorf("%d methods, %v", len(have), err)
		}
		used, limit := a.Room()
		if limit != image.Limit || used > limit-imageRoom || limit%imagePage != 0 || int64(len(image.Bytes)) > used || a.Epoch() != 5 {
			t.Errorf("%d of %d, the image %d, the epoch %d", used, limit, len(image.Bytes), a.Epoch())
		}
		a.memory.put32(uint64(p.Failed), 3)
		a.memory.put32(uint64(p.NamesUsed), uint32(copy(a.memory[p.AccountText:p.AccountText+p.AccountedMost], "failed a/B\n")))
		if account, has, err := a.Account(); err != nil || !has || account.Failed != 3 || len(account.Left) != 1 {
			t.Errorf("%+v, %v, %v", account, has, err)
		}
		if arrivals, err := a.Arrivals(0); err != nil || len(arrivals) != 0 {
			t.Errorf("%v, %v", arrivals, err)
		}
		if _, err := a.Sum(0); err != nil {
			t.Error(err)
		}
		_ = a.Close()
	}
}
