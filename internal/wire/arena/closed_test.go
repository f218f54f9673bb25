package arena

import (
	"errors"
	"sync"
	"testing"
)

// TestAClosedArenaTellsNothing closes an arena under its readers.
func TestAClosedArenaTellsNothing(t *testing.T) {
	a, err := Create(newFile(t, 1<<16), 1<<16, Owner{})
	if err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	var once sync.Once
	begun := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for err := error(nil); !errors.Is(err, ErrClosed); {
				_, err = a.Sum(0)
				a.Room()
				a.AddBatchCost(1, 1)
				once.Do(func() { close(begun) })
			}
		})
	}
	<-begun
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	readers.Wait()
	a.SetHookCost(1)
	a.Raise(1)
	a.AskStop()
	if used, limit := a.Room(); used != 0 || limit != 0 || a.Length() != 0 || a.Epoch() != 0 || a.OpenedNanos() != 0 || a.StopAsked() {
		t.Errorf("a closed arena has room %d of %d", used, limit)
	}
	for name, use := range map[string]func() error{
		"spill":    func() error { return a.MakeSpill(1) },
		"describe": func() error { return a.Describe([]Method{{ID: 1, Name: "m"}}) },
		"methods":  func() error { _, err := a.Methods(); return err },
		"threads":  func() error { _, err := a.Threads(); return err },
		"owner":    func() error { _, err := a.Owner(); return err },
		"cost":     func() error { _, err := a.Cost(); return err },
	} {
		if err := use(); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := a.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
}
