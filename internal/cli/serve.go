package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/service"
)

func newServe(s streams) *cobra.Command {
	var listen, tokenFile string
	var idle time.Duration
	var isReady, stop bool
	command := &cobra.Command{
		Use:   "serve",
		Short: "Run the service that live commands use",
		Long: `Run the service that runs live commands. Live commands start the service, and it ends
by itself when it has run no command for --idle. So this command is only needed to
serve other programs and pages.

Live commands are clients of this service, one process for each user and version of Sonde,
so that several of them can look at one JVM at the same time. Each is a look, with a
number: sonde looks lists them. If a command is killed, its look ends, unless it has
--background. If the service is killed, the agents in the JVMs remove its hooks. The
results of looks are kept for a week: sonde show prints them. SONDE_SERVICE=off, or
--no-service, runs a command in its own process, without the service. sonde ps, status,
doctor and undo use the service if it is running, but do not start it.

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
	state, err := statePath("looks")
	if err != nil {
		return err
	}
	runner := newHost()
	defer runner.close()
	runner.listens = o.listen != ""
	settings := service.Settings{Version: version(), Runner: runner, State: state, Idle: o.idle}
	if o.listen != "" {
		settings.Token = newToken()
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
	if err := writeToken(o.tokenFile, token); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.out, "http://%s\n", address)
	return err
}

func newToken() string {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails
	return hex.EncodeToString(random)
}

// writeToken writes a token to a file that only this user can read.
func writeToken(path, token string) error {
	_ = os.Remove(path) // its mode may be another
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return outputError(path, err)
	}
	_, err = io.WriteString(file, token+"\n")
	return errors.Join(err, file.Close())
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
			return errors.New("interrupted; the service is still shutting down")
		case <-time.After(10 * time.Millisecond):
		}
	}
	_, err = fmt.Fprintf(s.out, "the service (process %d) has ended\n", about.PID)
	return err
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
	return s.writeResult(asJSON, about, func(out io.Writer) {
		line := fields(out, 9)
		line("process", "%d, sonde %s", about.PID, about.Version)
		line("since", "%s (%s)", about.Began.Local().Format(time.DateTime), since(about.Began))
		line("socket", "%s", about.Socket)
		line("looks", "%s", format.Count(about.Looks, "is running", "are running"))
		line("results", "%s", about.Results)
	})
}
