// Command otlp is the OpenTelemetry Collector with its OTLP receiver, and an exporter
// that prints what came through, as the collector's own encoder writes it. test/tenants/show
// and test/formats/show hand Sonde's traces and profiles to it; nothing in it knows Sonde.
//
//	otlp --config collector.yaml --feature-gates service.profilesSupport
//
// It is a module of its own, so that the product depends on nothing of it.
package main

import (
	"context"
	"fmt"
	"os"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

func main() {
	settings := otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "otlp", Description: "prints the traces and profiles it receives", Version: "1"},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{
			ResolverSettings: confmap.ResolverSettings{
				ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory()},
				DefaultScheme:     "file",
			},
		},
	}
	if err := otelcol.NewCommand(settings).Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func factories() (otelcol.Factories, error) {
	receivers, err := otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory())
	if err != nil {
		return otelcol.Factories{}, err
	}
	exporters, err := otelcol.MakeFactoryMap[exporter.Factory](newPrinter())
	return otelcol.Factories{Receivers: receivers, Exporters: exporters, Telemetry: otelconftelemetry.NewFactory()}, err
}

// newPrinter is an exporter that writes each request's spans or profiles as a line of JSON to
// standard output.
func newPrinter() exporter.Factory {
	return xexporter.NewFactory(component.MustNewType("print"), func() component.Config { return &struct{}{} },
		xexporter.WithTraces(func(context.Context, exporter.Settings, component.Config) (exporter.Traces, error) {
			return printer{}, nil
		}, component.StabilityLevelStable),
		xexporter.WithProfiles(func(context.Context, exporter.Settings, component.Config) (xexporter.Profiles, error) {
			return printer{}, nil
		}, component.StabilityLevelStable))
}

// A printer has no state: the collector calls it from one request after the other.
type printer struct{}

func (printer) Start(context.Context, component.Host) error { return nil }

func (printer) Shutdown(context.Context) error { return nil }

func (printer) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (printer) ConsumeTraces(_ context.Context, traces ptrace.Traces) error {
	return printLine((&ptrace.JSONMarshaler{}).MarshalTraces(traces))
}

func (printer) ConsumeProfiles(_ context.Context, profiles pprofile.Profiles) error {
	return printLine((&pprofile.JSONMarshaler{}).MarshalProfiles(profiles))
}

func printLine(encoded []byte, err error) error {
	if err == nil {
		_, err = os.Stdout.Write(append(encoded, '\n'))
	}
	return err
}
