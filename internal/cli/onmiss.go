package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

const (
	// actionLimit is how long the command of a missed goal may run, or a request may take.
	actionLimit = 30 * time.Second
	// actionPatience is how long the end of sonde apply waits for them.
	actionPatience = 5 * time.Second
	mostRedirects  = 5
	// mostComplaint is how much of what a command writes to standard error is read.
	mostComplaint = 4 << 10
)

// perform runs the command of a missed goal with the findings on its standard input, or posts them.
func perform(ctx context.Context, a probeset.OnMiss, findings []byte) error {
	ctx, cancel := context.WithTimeout(ctx, actionLimit)
	defer cancel()
	var err error
	if a.Post != "" {
		err = post(ctx, a.Post, findings)
	} else {
		err = runCommand(ctx, a.Run, findings)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("it was ended after %v: %w", actionLimit, err)
	}
	return err
}

// runCommand runs a command without a shell. Its error has the first line that the command wrote to standard error.
func runCommand(ctx context.Context, words []string, input []byte) error {
	command := exec.CommandContext(ctx, words[0], words[1:]...)
	complaint := &head{most: mostComplaint}
	command.Stdin, command.Stderr, command.WaitDelay = bytes.NewReader(input), complaint, time.Second
	err := command.Run()
	if line, _, _ := strings.Cut(strings.TrimSpace(complaint.String()), "\n"); err != nil && line != "" {
		return fmt.Errorf("%s: %w: %s", words[0], err, line)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", words[0], err)
	}
	return nil
}

// A head keeps the first bytes that are written to it.
type head struct {
	bytes.Buffer
	most int
}

func (h *head) Write(text []byte) (int, error) {
	h.Buffer.Write(text[:min(len(text), max(0, h.most-h.Len()))])
	return len(text), nil
}

// post sends findings to a URL. It follows redirects on the same host that keep the request as it is.
func post(ctx context.Context, url string, findings []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(findings))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	client := http.Client{CheckRedirect: func(next *http.Request, before []*http.Request) error {
		switch first := before[0].URL; {
		case next.URL.Host != first.Host || next.URL.Scheme != first.Scheme:
			return fmt.Errorf("it redirects to another address, %s://%s: post to that one", next.URL.Scheme, next.URL.Host)
		case next.Method != http.MethodPost || len(before) >= mostRedirects:
			return fmt.Errorf("it redirects to %s: post to that one", next.URL.Path)
		}
		return nil
	}}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.CopyN(io.Discard, answer.Body, mostComplaint) // the connection is not used again
	if answer.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("post %s: the answer is %s", request.URL.Redacted(), answer.Status)
	}
	return nil
}

// resolveCommands makes the names of programs absolute that are relative to a directory.
func resolveCommands(set *probeset.Set, dir string) error {
	for i := range set.Goals {
		words := set.Goals[i].OnMiss.Run
		if len(words) == 0 || !strings.Contains(words[0], "/") || filepath.IsAbs(words[0]) {
			continue // the program is searched in PATH
		}
		path, err := filepath.Abs(filepath.Join(dir, words[0]))
		if err != nil {
			return err
		}
		words[0] = path
	}
	return nil
}

// mayRun refuses commands in a service that others can reach.
func (s streams) mayRun(set *probeset.Set) error {
	hasCommand := slices.ContainsFunc(set.Goals, func(g probeset.Goal) bool { return len(g.OnMiss.Run) > 0 })
	if hasCommand && s.look != nil && s.look.host.listens {
		return errors.New("on-miss: a service with --listen runs no commands, because everybody with its token could run any command: use `post:` instead of `run:`, or --no-service")
	}
	isTrusted := func(p probeset.Probe) bool { return p.Own != nil && p.Own.Trusted }
	if slices.ContainsFunc(set.Probes, isTrusted) && s.look != nil && s.look.host.listens {
		return errors.New("trusted: a service with --listen weaves no trusted templates, because everybody with its token could run any code: use --no-service")
	}
	return nil
}
