package main

import (
	"context"
	"os"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// newPrinter is an exporter that writes each request's spans as a line of JSON to
// standard output.
func newPrinter() exporter.Factory {
	return exporter.NewFactory(component.MustNewType("print"), func() component.Config { return &struct{}{} },
		exporter.WithTraces(createPrinter, component.StabilityLevelStable))
}

func createPrinter(context.Context, exporter.Settings, component.Config) (exporter.Traces, error) {
	return printer{}, nil
}

// A printer has no state: the collector calls it from one request after the other.
type printer struct{ marshaler ptrace.JSONMarshaler }

func (printer) Start(context.Context, component.Host) error { return nil }

func (printer) Shutdown(context.Context) error { return nil }

func (printer) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (p printer) ConsumeTraces(_ context.Context, traces ptrace.Traces) error {
	encoded, err := p.marshaler.MarshalTraces(traces)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(append(encoded, '\n'))
	return err
}
