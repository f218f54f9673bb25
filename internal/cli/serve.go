package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
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
	options, err := kind.options(cmd, args)
	if err != nil {
		return false, err
	}
	return true, s.runInService(cmd.Context(), delegated{kind: kind.name, pid: pid, options: options, background: background, json: isSet(cmd, "json")})
}

var errNoBackground = usage("--background needs the service and a running JVM: use it without --no-service, and without %s=%s", serviceVariable, serviceOff)

// isSet reports whether a flag is there and true.
func isSet(command *cobra.Command, name string) bool {
	flag := command.Flags().Lookup(name)
	return flag != nil && flag.Value.String() == "true"
}

// A delegated command is one that the service runs.
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
	if terminal := s.terminal(); terminal != nil {
		body["terminal"] = terminal
	} else if d.background {
		body["terminal"] = service.Terminal{Width: 120, Height: 40}
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
	screen := newScreen(s)
	_, height := screen.size()
	return &service.Terminal{Width: width, Height: height, Colours: s.hasColours(width)}
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
		return err
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
	return errors.New(strings.TrimPrefix(strings.TrimSpace(stderr.String()), "sonde: "))
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
		case event.Name == service.EventEnd:
			return endedLook(event)
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
	path := fmt.Sprintf("/v1/looks/%d/", look.Number)
	ask := func(method, part string, body any) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askPatience)
		defer cancel()
		_ = client.Call(ctx, method, path+part, body, nil) // it may have ended
	}
	end := func() { ask(http.MethodPost, "end", nil) }
	defer context.AfterFunc(ctx, end)()
	screen := newScreen(s)
	defer s.passKeys(look.Kind, screen, ask)()
	for {
		event, err := stream.Next()
		if err != nil {
			screen.clear()
			return err
		}
		if event.Name == service.EventEnd {
			screen.clear()
			return endedLook(event)
		}
		if err := show(s, screen, event); err != nil {
			end() // the events that remain are not read
			return err
		}
	}
}

// askPatience bounds requests that nobody waits for.
const askPatience = 5 * time.Second

// show shows an event.
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
			screen.draw(frame.Lines)
		}
	}
	return nil
}

// passKeys passes keys and the size of the terminal on to a look that shows a table.
func (s streams) passKeys(kind string, screen *screen, ask func(method, part string, body any)) (end func()) {
	if screen.silent {
		return func() {}
	}
	resized := make(chan os.Signal, 1)
	stopResizes := notifyResize(resized)
	var keys <-chan rune
	restore := func() {}
	if kind == "monitor" || kind == "hot" {
		keys, restore = readTerminalKeys()
	}
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case key := <-keys:
				ask(http.MethodPost, "keys", service.Keys{Keys: string(key)})
			case <-resized:
				ask(http.MethodPut, "terminal", s.terminal())
			case <-ended:
				return
			}
		}
	}()
	return func() {
		close(ended)
		stopResizes()
		restore()
	}
}

func newServe(s streams) *cobra.Command {
	var listen, tokenFile string
	var idle time.Duration
	var isReady, stop bool
	command := &cobra.Command{
		Use:   "serve",
		Short: "Run the service that live commands use",
		Long: `Run the service that runs live commands. A command that needs it starts it, and it ends
by itself when it has run no command for --idle, so that this command is only needed to
serve other programs and pages.

Live commands are clients of this service, one process for each user and version of Sonde,
so that several of them can look at one JVM at the same time. Each is a look, with a
number: sonde looks lists them. If a command is killed, its look ends, unless it has
--background. If the service is killed, the agents in the JVMs remove its hooks. The
results of looks are kept for a week: sonde show prints them. SONDE_SERVICE=off, or
--no-service, runs a command in its own process, without the service.

Only this user and root can use the socket of the service. With --listen, it also answers
at an address of this machine, over HTTP without encryption. Each request must then have
the token, as Authorization: Bearer TOKEN. The token is new at each start, and is printed
once, or written to --token-file, which only this user can read.

docs/formats/service.json describes all requests as an OpenAPI document;
/v1/openapi.json is the same.`,
		Example: `  sonde serve --listen 127.0.0.1:7070
  curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:7070/v1/looks
  sonde serve --stop`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if stop {
				return stopService(cmd.Context(), s)
			}
			if listen != "" {
				var err error
				if listen, err = listenAddress(listen); err != nil {
					return err
				}
				if host, _, _ := net.SplitHostPort(listen); !isLoopback(host) {
					return usage("--listen %s: only addresses of this machine, such as 127.0.0.1, are allowed, because nothing is encrypted", listen)
				}
				if !cmd.Flags().Changed("idle") {
					idle = 0
				}
			}
			return serve(cmd.Context(), s, serveOptions{listen, tokenFile, idle, isReady})
		},
	}
	flags := command.Flags()
	flags.StringVar(&listen, "listen", "", "`[ADDRESS:]PORT` at which other programs can use the service, with a token; the default address is 127.0.0.1")
	flags.StringVar(&tokenFile, "token-file", "", "`FILE` to write the token to, instead of standard output")
	flags.Var(span(&idle, usualIdle, 0, 0), "idle", "end when no look has run for this time; 0 continues until Ctrl-C, which is the default with --listen")
	flags.BoolVar(&stop, "stop", false, "end the running service, with all its looks")
	flags.BoolVar(&isReady, "ready", false, "report on descriptor 3 when the service listens")
	hide(command, "ready")
	return command
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

type serveOptions struct {
	listen, tokenFile string
	idle              time.Duration
	isReady           bool // a command waits for it
}

func serve(ctx context.Context, s streams, o serveOptions) error {
	state, err := stateDir()
	if err != nil {
		return err
	}
	runner := newHost()
	defer runner.close()
	settings := service.Settings{Version: version(), Runner: runner, State: state, Idle: o.idle}
	if o.listen != "" {
		random := make([]byte, 32)
		_, _ = rand.Read(random) // never fails
		settings.Token = hex.EncodeToString(random)
	}
	listener, err := place().Listen(ctx)
	if errors.Is(err, service.ErrRunning) && o.isReady { // another command has just started it
		return reportReady()
	}
	if err != nil {
		return fmt.Errorf("%w: sonde serve --stop ends it", err)
	}
	defer func() { _ = listener.Close() }()
	listeners := []net.Listener{listener}
	if o.listen != "" {
		more, err := net.Listen("tcp", o.listen)
		if err != nil {
			return fmt.Errorf("--listen %s: %w", o.listen, err)
		}
		defer func() { _ = more.Close() }()
		listeners = append(listeners, more)
		if err := s.tellToken(o, more.Addr().String(), settings.Token); err != nil {
			return err
		}
	}
	host, err := service.New(settings)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, host.Close)()
	failed := make(chan error, len(listeners))
	for _, listener := range listeners {
		go func() { failed <- host.Serve(listener) }()
	}
	if o.isReady {
		err = reportReady()
	} else {
		_, _ = fmt.Fprintf(s.err, "the service listens at %s; Ctrl-C ends it\n", listener.Addr())
	}
	for range listeners {
		err = errors.Join(err, <-failed)
	}
	return err
}

func (s streams) tellToken(o serveOptions, address, token string) error {
	if o.tokenFile == "" {
		_, err := fmt.Fprintf(s.out, "http://%s\ntoken %s\n", address, token)
		return err
	}
	_ = os.Remove(o.tokenFile) // its mode may be another
	file, err := os.OpenFile(o.tokenFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return outputError(o.tokenFile, err)
	}
	if _, err := io.WriteString(file, token+"\n"); err != nil {
		return errors.Join(err, file.Close())
	}
	_, _ = fmt.Fprintf(s.out, "http://%s\n", address)
	return file.Close()
}

func stopService(ctx context.Context, s streams) error {
	client, err := place().Find(ctx)
	if err != nil {
		return err
	}
	var about service.About
	if err := client.Call(ctx, http.MethodGet, "/v1/service", nil, &about); err != nil {
		return err
	}
	stat := process.Local.Path(about.PID, "stat")
	before, err := process.ReadStat(stat)
	if err != nil {
		return err
	}
	if err := client.Call(ctx, http.MethodDelete, "/v1/service", nil, nil); err != nil {
		return err
	}
	for { // until the process has ended, and with it its looks; nobody may read its exit code
		now, err := process.ReadStat(stat)
		if err != nil || now.Ended || now.Start != before.Start {
			break
		}
		select {
		case <-ctx.Done():
			return errors.New("interrupted; the service goes on ending")
		case <-time.After(10 * time.Millisecond):
		}
	}
	_, err = fmt.Fprintf(s.out, "the service (process %d) has ended\n", about.PID)
	return err
}

func newLooks(s streams) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "looks",
		Short: "List the commands that look at JVMs, and results that are kept",
		Long: `List the looks of this user: the live commands that run, with or without a terminal, and
those that have ended and whose results are kept. Results are kept for a week, and up to
256 MiB.

LOOK     its number, for sonde show and sonde end
STATE    running, background (running without a terminal), ended, failed, or lost, if
         its service was killed
CALLS/S  calls per second that its hooks count now
COST     part of one processor that its hooks use now`,
		Example: `  sonde looks
  sonde looks --json | jq '.looks[] | select(.state == "running")'`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return listLooks(cmd.Context(), s, asJSON) },
	}
	command.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	return command
}

func listLooks(ctx context.Context, s streams, asJSON bool) error {
	client, err := s.connect(ctx)
	if err != nil {
		return err
	}
	var list service.List
	if err := client.Call(ctx, http.MethodGet, "/v1/looks", nil, &list); err != nil {
		return err
	}
	if asJSON {
		return document.Write(s.out, list)
	}
	if len(list.Looks) == 0 {
		_, err := fmt.Fprintln(s.err, "there are no looks")
		return err
	}
	return s.print(func(out io.Writer) { format.WriteTable(out, looksColumns, lookTexts(list.Looks), s.outWidth()) })
}

var looksColumns = format.Columns(">LOOK", ">PID", "STATE", ">AGE", ">CALLS/S", ">COST", "COMMAND")

func lookTexts(looks []service.Description) (rows [][]string) {
	for _, l := range looks {
		rate, cost := "-", "-"
		if l.Cost != nil {
			rate, cost = format.Rate(l.Cost.PerSecond), format.Percent(l.Cost.Share)
		}
		rows = append(rows, []string{
			strconv.Itoa(l.Number), strconv.Itoa(l.PID), stateText(&l), since(l.Began), rate, cost, format.Printable(l.Command),
		})
	}
	return rows
}

func stateText(l *service.Description) string {
	switch {
	case l.State == service.Running && l.Background:
		return "background"
	case l.State == service.Ended && l.Exit != exitOK:
		return "failed"
	}
	return string(l.State)
}

func lookNumber(text string) (int, error) {
	number, err := strconv.Atoi(text)
	if err != nil || number <= 0 {
		return 0, usage("%q is not the number of a look: sonde looks lists them", text)
	}
	return number, nil
}

func newShow(s streams) *cobra.Command {
	var asJSON bool
	var outputs []string
	command := &cobra.Command{
		Use:   "show LOOK",
		Short: "Show a command that runs in the background, or a result that is kept",
		Long: `Show a look. If it is running, its messages and tables are shown until it ends; Ctrl-C
only ends the showing. If it has ended, its result is printed again, or written to files
in the format of their names: those that the command itself can write with -o, and .txt
and .json.`,
		Example: `  sonde show 12
  sonde show 12 --json
  sonde show 12 -o checkout.html`,
		Args: exactly("LOOK"),
		RunE: func(cmd *cobra.Command, args []string) error {
			number, err := lookNumber(args[0])
			if err != nil {
				return err
			}
			return showOrPrint(cmd.Context(), s, number, asJSON, outputs)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "write the result as JSON")
	command.Flags().StringArrayVarP(&outputs, "output", "o", nil, "file to write the result to; may be repeated")
	return command
}

func showOrPrint(ctx context.Context, s streams, number int, asJSON bool, outputs []string) error {
	client, err := s.connect(ctx)
	if err != nil {
		return err
	}
	path := fmt.Sprintf("/v1/looks/%d", number)
	var look service.Description
	if err := client.Call(ctx, http.MethodGet, path, nil, &look); err != nil {
		return err
	}
	switch {
	case look.State != service.Running:
		return s.printResult(ctx, client, &look, asJSON, outputs)
	case len(outputs) > 0:
		return fmt.Errorf("look %d is still running: sonde end %d ends it, then its result can be written", number, number)
	case asJSON:
		return document.Write(s.out, look)
	}
	if terminal := s.terminal(); terminal != nil {
		if err := client.Call(ctx, http.MethodPut, path+"/terminal", terminal, nil); err != nil {
			return err
		}
	}
	err = s.watchLook(ctx, client, number)
	if ctx.Err() != nil {
		_, err = fmt.Fprintf(s.err, "look %d goes on: sonde end %d ends it\n", number, number)
	}
	return err
}

// watchLook shows a look whose owner is another command. It ends when the look ends or at the
// first signal.
func (s streams) watchLook(ctx context.Context, client *service.Client, number int) error {
	stream, err := client.Events(ctx, http.MethodGet, fmt.Sprintf("/v1/looks/%d/events", number), nil)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	screen := newScreen(s)
	defer screen.clear()
	for {
		event, err := stream.Next()
		switch {
		case err != nil:
			return err
		case event.Name == service.EventEnd:
			return endedLook(event)
		}
		if err := show(s, screen, event); err != nil {
			return err
		}
	}
}

// printResult prints the result of a look that has ended, or writes it to files.
func (s streams) printResult(ctx context.Context, client *service.Client, look *service.Description, asJSON bool, outputs []string) error {
	fetch := func(format string) ([]byte, error) {
		return client.Fetch(ctx, fmt.Sprintf("/v1/looks/%d/result?format=%s", look.Number, format))
	}
	if len(outputs) == 0 {
		kept := "txt"
		if asJSON {
			kept = "json"
		}
		result, err := fetch(kept)
		if err != nil {
			return err
		}
		_, err = s.out.Write(result)
		return err
	}
	reportWritten, err := s.writeOutputs(outputs, func(path string) error {
		result, err := fetch(formatOf(path, look.Formats))
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, result, 0o644); err != nil {
			return outputError(path, err)
		}
		return nil
	})
	reportWritten()
	return err
}

// formatOf returns the format that a file name has, the longest one that fits.
func formatOf(path string, formats []string) string {
	name, best := filepath.Base(path), ""
	for _, one := range formats {
		if strings.HasSuffix(name, "."+one) && len(one) > len(best) {
			best = one
		}
	}
	if best == "" {
		return strings.TrimPrefix(filepath.Ext(name), ".")
	}
	return best
}

func newEnd(s streams) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "end LOOK...",
		Short: "End commands that run in the background, and print their results",
		Long: `End looks, as Ctrl-C does in their terminals, wait until their hooks are removed, and
print their results. Hooks that other looks use stay.`,
		Example: `  sonde end 12
  sonde end 12 13 --json`,
		Args: atLeast("LOOK"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var failed error
			for _, text := range args {
				number, err := lookNumber(text)
				if err == nil {
					err = endLook(cmd.Context(), s, number, asJSON)
				}
				failed = errors.Join(failed, err)
			}
			return failed
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "write the results as JSON")
	return command
}

func endLook(ctx context.Context, s streams, number int, asJSON bool) error {
	client, err := s.connect(ctx)
	if err != nil {
		return err
	}
	var look service.Description
	if err := client.Call(ctx, http.MethodPost, fmt.Sprintf("/v1/looks/%d/end", number), nil, &look); err != nil {
		return err
	}
	if look.Exit != exitOK || !slices.Contains(look.Formats, "txt") {
		return fmt.Errorf("look %d has ended without a result: %s", number, look.Error)
	}
	return s.printResult(ctx, client, &look, asJSON, nil)
}

// undoLook ends one look of a JVM.
func undoLook(ctx context.Context, s streams, pid, number int) error {
	looks, err := runningLooks(ctx, func(l *service.Description) bool { return l.Number == number })
	switch {
	case err != nil:
		return err
	case len(looks) == 0:
		return fmt.Errorf("look %d is not running: sonde looks lists the looks", number)
	case looks[0].PID != pid:
		return fmt.Errorf("look %d is of process %d, not of %d", number, looks[0].PID, pid)
	}
	client, err := place().Find(ctx)
	if err != nil {
		return err
	}
	if err := client.Call(ctx, http.MethodPost, fmt.Sprintf("/v1/looks/%d/end", number), nil, nil); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "look %d has ended: sonde show %d prints its result\n", number, number)
	return err
}

// runningLooks returns the looks that run and pass a filter. No service is started for that.
func runningLooks(ctx context.Context, passes func(*service.Description) bool) ([]service.Description, error) {
	looks := []service.Description{}
	client, err := place().Find(ctx)
	if errors.Is(err, service.ErrNone) {
		return looks, nil
	}
	var list service.List
	if err == nil {
		err = client.Call(ctx, http.MethodGet, "/v1/looks", nil, &list)
	}
	for _, look := range list.Looks {
		if look.State == service.Running && passes(&look) {
			looks = append(looks, look)
		}
	}
	return looks, err
}

func serviceStatus(ctx context.Context, s streams, asJSON bool) error {
	client, err := place().Find(ctx)
	if err != nil {
		return err
	}
	var about service.About
	if err := client.Call(ctx, http.MethodGet, "/v1/service", nil, &about); err != nil {
		return err
	}
	about.Socket = client.Socket
	if asJSON {
		return document.Write(s.out, about)
	}
	return s.print(func(out io.Writer) {
		line := fields(out, 9)
		line("process", "%d, sonde %s", about.PID, about.Version)
		line("since", "%s (%s)", about.Began.Local().Format(time.DateTime), since(about.Began))
		line("socket", "%s", about.Socket)
		line("looks", "%s", format.Count(about.Looks, "is running", "are running"))
		line("results", "%s", about.Results)
	})
}

// hostStatus shows the JVMs in which Sonde is, and the looks that run.
func hostStatus(ctx context.Context, s streams, asJSON bool) error {
	jvms, err := process.Local.Find(ctx)
	if err != nil {
		return fmt.Errorf("listing processes: %w", err)
	}
	jvms = slices.DeleteFunc(jvms, func(j *process.JVM) bool { return j.Inside == process.Outside || j.Inside == process.PresenceUnknown })
	looks, err := runningLooks(ctx, func(*service.Description) bool { return true })
	if err != nil {
		return err
	}
	if asJSON {
		documents := []document.JVM{}
		for _, jvm := range jvms {
			documents = append(documents, document.NewJVM(jvm))
		}
		return document.Write(s.out, struct {
			JVMs []document.JVM `json:"jvms"`
			service.List
		}{documents, service.List{Looks: looks}})
	}
	if len(jvms)+len(looks) == 0 {
		_, err := fmt.Fprintln(s.out, "Sonde is in no JVM"+asFarAsSeen())
		return err
	}
	return s.print(func(out io.Writer) {
		if len(jvms) > 0 {
			format.WriteTable(out, psColumns, jvmRows(jvms), s.outWidth())
		}
		if len(looks) > 0 {
			_, _ = fmt.Fprintln(out)
			format.WriteTable(out, looksColumns, lookTexts(looks), s.outWidth())
		}
	})
}
