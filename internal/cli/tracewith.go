package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/categories"
)

// A companion traces the web requests that another JVM answers, for the transactions of a trace that have sent them.
type companion struct {
	*traceRun
	end  context.CancelFunc
	over chan ending
}

// requestsOf returns a trace of the requests that a JVM answers, with the same options as another trace where they fit.
func (c *traceCommand) requestsOf(pid int) (*traceCommand, error) {
	other := &traceCommand{
		targetFlags: targetFlags{
			force: c.force, cache: c.cache, yes: c.yes, settle: c.settle, budget: c.budget, usualBudget: c.usualBudget, categories: []string{categories.Web},
		},
		levels: c.levels, own: c.own, join: true, propagate: true, outgoing: c.outgoing, limit: mostTransactions, sample: 1, show: showNone, flagSet: c.flagSet,
	}
	other.contexts.handOff = c.contexts.handOff
	other.streams = streams{in: strings.NewReader(""), out: io.Discard, err: &prefixed{to: c.err, prefix: fmt.Sprintf("process %d: ", pid)}, beside: c.look}
	err := other.parse([]string{strconv.Itoa(pid)})
	if err == nil {
		other.wanted, err = other.want()
	}
	return other, err
}

// startCompanions begins to trace the other JVMs.
func (r *traceRun) startCompanions(ctx context.Context) error {
	for _, other := range r.others {
		run := other.newRun()
		run.isJoinedOnly, run.isCompared = true, false
		if err := run.begin(ctx); err != nil {
			return fmt.Errorf("--with %d: %w", other.pid, err)
		}
		watching, end := context.WithCancel(ctx)
		c := &companion{run, end, make(chan ending, 1)}
		r.companions = append(r.companions, c)
		go func() { c.over <- c.watch(watching) }()
	}
	return nil
}

// endCompanions ends the tracing of other JVMs, and puts what they have answered below the calls that have sent it.
func (r *traceRun) endCompanions(ctx context.Context) (failure error) {
	var programs []trace.Program
	for _, c := range r.companions {
		c.end()
		ended := <-c.over
		failure = errors.Join(failure, c.readRest(ended))
		c.complete(context.WithoutCancel(ctx), ended)
		programs = append(programs, trace.Program{Target: c.target(), Transactions: c.kept})
		_, err := c.leave(ctx, ended)
		failure = errors.Join(failure, err, c.liveSession.session.Release())
	}
	if r.companions = nil; len(programs) == 0 || len(r.kept) == 0 {
		return failure
	}
	if found := trace.Graft(r.target(), r.kept, programs); found == 0 {
		r.remark("the programs of --with have answered no request of these transactions: the requests may have been sent by a client that Sonde does not know, or to another program")
	} else {
		r.screen.say("%s of other programs found", format.Count(found, "transaction", "transactions"))
	}
	return failure
}

// prefixed writes lines with a prefix.
type prefixed struct {
	to     io.Writer
	prefix string
	isOpen bool // the last line has not ended
}

func (p *prefixed) Write(data []byte) (int, error) {
	var text bytes.Buffer
	for line := range bytes.Lines(data) {
		if !p.isOpen {
			text.WriteString(p.prefix)
		}
		text.Write(line)
		p.isOpen = !bytes.HasSuffix(line, []byte("\n"))
	}
	if _, err := p.to.Write(text.Bytes()); err != nil {
		return 0, err
	}
	return len(data), nil
}
