package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/service"
)

// serviceVariable is off if live commands run in processes of their own.
const (
	serviceVariable = "SONDE_SERVICE"
	serviceOff      = "off"
)

// usualIdle is how long a service without looks waits for the next one.
const usualIdle = 30 * time.Second

// The flags of commands that the service can run.
const (
	backgroundFlag = "background"
	noServiceFlag  = "no-service"
)

func addServiceFlags(command *cobra.Command) {
	command.Flags().Bool(backgroundFlag, false, "continue in the background: sonde looks lists such commands, sonde show shows one")
	command.Flags().Bool(noServiceFlag, false, "run in this process alone; other commands cannot use the JVM meanwhile")
}

// delegate makes the service run a command that looks at a running JVM, and reports whether it
// has.
func (s streams) delegate(cmd *cobra.Command, args []string) (done bool, err error) {
	if s.isCheck {
		return true, nil
	}
	kind := kindOf(cmd.Name())
	if kind == nil || kind.name == "apply" || s.look != nil { // apply asks first
		return false, nil
	}
	background := isSet(cmd, backgroundFlag)
	pid, err := strconv.Atoi(append(args, "")[0])
	if !s.useService || isSet(cmd, noServiceFlag) || err != nil || isSet(cmd, "start") {
		if background {
			return false, errNoBackground
		}
		return false, nil
	}
	options, err := kind.options(cmd.Flags(), args)
	if err != nil {
		return false, err
	}
	s.isYes = isSet(cmd, "yes")
	err = s.runInService(cmd.Context(), delegated{kind: kind.name, pid: pid, options: options, background: background, json: isSet(cmd, "json")})
	if s.goesAlone(err, background) {
		return false, nil
	}
	return true, err
}

var errNoBackground = usage("--background needs the service and a running JVM: use it without --no-service, and without %s=%s", serviceVariable, serviceOff)

// isSet reports whether a flag is there and true.
func isSet(command *cobra.Command, name string) bool {
	flag := command.Flags().Lookup(name)
	return flag != nil && flag.Value.String() == "true"
}

// A delegated command is a command that the service runs.
type delegated struct {
	kind       string
	pid        int
	options    map[string]any
	background bool
	json       bool
}

// runInService makes the service run a command, and shows what it reports.
func (s streams) runInService(ctx context.Context, d delegated) error {
	body := d.options
	body["pid"], body["text"] = d.pid, !d.json
	terminal := s.terminal()
	if d.background && (terminal == nil || terminal.Height == 0) {
		terminal = &service.Terminal{Width: 120, Height: 40}
	}
	if terminal != nil {
		body["terminal"] = terminal
	}
	for tries := 0; ; tries++ {
		client, err := s.connect(ctx)
		if err != nil {
			return err
		}
		if d.background {
			err = s.startInBackground(ctx, client, d, body)
		} else {
			err = s.showLook(ctx, client, func() (*service.Stream, error) {
				return client.Events(context.WithoutCancel(ctx), http.MethodPost, "/v1/looks/"+d.kind, body)
			})
		}
		const most = 3
		if !errors.Is(err, service.ErrNone) && !errors.Is(err, service.ErrEnding) || tries == most {
			return err
		} // a service that just ends is followed by another
	}
}

// terminal describes the terminal of out; nil if it is none.
func (s streams) terminal() *service.Terminal {
	width := s.outWidth()
	if width == 0 {
		return nil
	}
	terminal := &service.Terminal{Width: width, Colours: s.hasColours(width)}
	if s.isLive() {
		_, terminal.Height, _ = term.GetSize(int(s.out.(*os.File).Fd())) // without a height, nothing is drawn
	}
	return terminal
}

// connect finds the service, or starts it.
func (s streams) connect(ctx context.Context) (*service.Client, error) {
	client, err := place().Find(ctx)
	if !errors.Is(err, service.ErrNone) {
		return client, err
	}
	if err := startService(ctx); err != nil {
		return nil, fmt.Errorf("the service could not be started: %w; --no-service runs the command without it", err)
	}
	return place().Find(ctx)
}

// An unableError says why there can be no service here: a container may have no home directory and no /dev/null.
type unableError struct{ cause error }

func (e *unableError) Error() string { return e.cause.Error() }
func (e *unableError) Unwrap() error { return e.cause }

// goesAlone reports whether a command runs in this process because there can be no service, and says so.
func (s streams) goesAlone(err error, background bool) bool {
	var unable *unableError
	if background || !errors.As(err, &unable) {
		return false
	}
	s.note("this command runs without the service, which could not be started: " + format.OneLine(unable))
	return true
}

// readyFD is the descriptor on which a service reports that it listens.
const readyFD = 3

const readyWord = "ready\n"

// startService starts this program again as the service, and waits until it listens.
func startService(ctx context.Context) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = read.Close() }()
	command := exec.Command("/proc/self/exe", "serve", "--ready")
	var stderr strings.Builder
	command.Args[0], command.Stderr, command.Dir = "sonde", &stderr, "/"
	command.ExtraFiles = []*os.File{write}
	command.SysProcAttr = ownSession()
	err = command.Start()
	_ = write.Close()
	if err != nil {
		return &unableError{err}
	}
	defer context.AfterFunc(ctx, func() { _ = command.Process.Signal(os.Interrupt) })()
	word, err := io.ReadAll(read)
	if err == nil && string(word) == readyWord {
		return command.Process.Release()
	}
	_ = command.Wait() // it has printed why
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted")
	case stderr.Len() == 0:
		return fmt.Errorf("it was killed (%v)", command.ProcessState)
	}
	return &unableError{errors.New(strings.TrimPrefix(strings.TrimSpace(stderr.String()), "sonde: "))}
}

// reportReady reports to the command that waits, and releases its terminal.
func reportReady() error {
	const patience = 5 * time.Second
	ready := os.NewFile(readyFD, "ready")
	if ready == nil {
		return errors.New("nobody waits on descriptor 3: --ready is for internal use")
	}
	_ = ready.SetWriteDeadline(time.Now().Add(patience)) // files that know no deadline do not block
	if err := leaveTerminal(); err != nil {
		return err
	}
	_, err := io.WriteString(ready, readyWord)
	return errors.Join(err, ready.Close())
}

// startInBackground starts a look, and shows its messages until it measures or has failed.
func (s streams) startInBackground(ctx context.Context, client *service.Client, d delegated, body map[string]any) error {
	body["background"] = true
	var look service.Description
	if err := client.Call(ctx, http.MethodPost, "/v1/looks/"+d.kind, body, &look); err != nil {
		return err
	}
	stream, err := client.Events(ctx, http.MethodGet, fmt.Sprintf("/v1/looks/%d/events", look.Number), nil)
	if err != nil {
		return s.endedAtOnce(ctx, client, look.Number, err)
	}
	defer func() { _ = stream.Close() }()
	for {
		event, err := stream.Next()
		switch {
		case err != nil && ctx.Err() != nil:
			return fmt.Errorf("interrupted; look %d goes on: sonde end %d ends it", look.Number, look.Number)
		case err != nil:
			return err
		case event.Name == service.EventMessage:
			_, _ = io.WriteString(s.err, textOf(event))
		case event.Name == service.EventQuestion:
			s.answer(ctx, client, look.Number, textOf(event))
		case event.Name == service.EventEnd: // before it was ready
			if err := endedLook(event); err != nil {
				return err
			}
			if d.json {
				_, err := fmt.Fprintf(s.out, "%s\n", event.Data)
				return err
			}
			_, err := fmt.Fprintf(s.out, "look %d of process %d has ended: sonde show %d prints its result\n", look.Number, d.pid, look.Number)
			return err
		case event.Name == service.EventReady:
			if d.json {
				return document.Write(s.out, look)
			}
			_, err := fmt.Fprintf(s.out, "look %d of process %d continues in the background: sonde show %d shows it, sonde end %d ends it\n", look.Number, d.pid, look.Number, look.Number)
			return err
		}
	}
}

// endedAtOnce is the error of a look that has ended before its events could be read.
func (s streams) endedAtOnce(ctx context.Context, client *service.Client, number int, err error) error {
	var look service.Description
	if asking := client.Call(ctx, http.MethodGet, fmt.Sprintf("/v1/looks/%d", number), nil, &look); asking != nil || look.State == service.Running {
		return err
	}
	if look.Exit != exitOK {
		_, _ = fmt.Fprintf(s.err, "sonde: %s\n", format.Printable(look.Error))
		return exitStatus(look.Exit)
	}
	return fmt.Errorf("look %d has ended already: sonde show %d prints its result", number, number)
}

func textOf(event service.Event) string {
	var text service.Text
	_ = json.Unmarshal(event.Data, &text) // the service is the same program
	return text.Text
}

func endedLook(event service.Event) error {
	var look service.Description
	if err := json.Unmarshal(event.Data, &look); err != nil {
		return err
	}
	if look.Exit != exitOK {
		return exitStatus(look.Exit) // its messages have said why
	}
	return nil
}

// showLook shows a look until it ends. The first signal ends it, as in a command that runs by
// itself, and its result follows.
func (s streams) showLook(ctx context.Context, client *service.Client, open func() (*service.Stream, error)) error {
	defer ignoreBrokenPipe()()
	stream, err := open()
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	first, err := stream.Next()
	if err != nil {
		return err
	}
	var look service.Description
	if err := json.Unmarshal(first.Data, &look); err != nil {
		return err
	}
	end := func() { ask(client, look.Number, http.MethodPost, "end", nil) }
	defer context.AfterFunc(ctx, end)()
	defer s.passKeys(client, look.Number)()
	return s.follow(stream, newScreen(s), end, func(question string) { s.answer(ctx, client, look.Number, question) })
}

// answer asks the user what a look wants to know, and passes the answer on.
func (s streams) answer(ctx context.Context, client *service.Client, look int, question string) {
	answer := "n"
	if s.isYes || confirm(ctx, s, question, false) {
		answer = "y"
	}
	ask(client, look, http.MethodPost, "keys", service.Keys{Keys: answer})
}

// ask sends a request about a look, which may have ended. It is not cancelled: the user may have ended the command.
func ask(client *service.Client, look int, method, part string, body any) {
	ctx, cancel := context.WithTimeout(context.Background(), askPatience)
	defer cancel()
	_ = client.Call(ctx, method, fmt.Sprintf("/v1/looks/%d/%s", look, part), body, nil)
}

// follow shows the events of a look until it ends, and passes its questions on. If they cannot be
// shown, it calls unread.
func (s streams) follow(stream *service.Stream, screen *screen, unread func(), question func(string)) error {
	defer screen.clear()
	for {
		event, err := stream.Next()
		switch {
		case err != nil:
			return err
		case event.Name == service.EventEnd:
			return endedLook(event)
		case event.Name == service.EventQuestion:
			screen.clear()
			question(textOf(event))
		}
		if err := show(s, screen, event); err != nil {
			unread()
			return err
		}
	}
}

// askPatience bounds requests that nobody waits for.
const askPatience = 5 * time.Second

func show(s streams, screen *screen, event service.Event) error {
	switch event.Name {
	case service.EventMessage:
		_ = screen.print(s.err, textOf(event))
	case service.EventText:
		return screen.print(s.out, textOf(event))
	case service.EventDocument:
		return screen.print(s.out, string(event.Data)+"\n")
	case service.EventFrame:
		var frame service.Frame
		if err := json.Unmarshal(event.Data, &frame); err == nil && !screen.silent {
			screen.draw(frame)
		}
	}
	return nil
}

// passKeys passes keys and the size of the terminal on to a look.
func (s streams) passKeys(client *service.Client, look int) (end func()) {
	ended := make(chan struct{})
	go func() {
		for keys := newScreen(s).keys(); ; {
			select {
			case key := <-keys:
				if key == keyRedraw {
					ask(client, look, http.MethodPut, "terminal", s.terminal())
				}
				ask(client, look, http.MethodPost, "keys", service.Keys{Keys: string(key)})
			case <-ended:
				return
			}
		}
	}()
	return func() { close(ended) }
}
