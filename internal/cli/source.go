package cli

import "github.com/sonde-jvm/sonde/internal/jvm/sampler"

// sourceFlags choose where samples come from.
type sourceFlags struct {
	recorder, dumps bool
}

func (f *sourceFlags) register(flags flagSet) {
	flags.BoolVar(&f.recorder, "recorder", false, "sample by the flight recorder also before JDK 21, where starting it discards all compiled code")
	flags.BoolVar(&f.dumps, "thread-dumps", false, "sample by thread dumps also where there is a flight recorder")
}

func (f *sourceFlags) choose() (sampler.Source, error) {
	switch {
	case f.recorder && f.dumps:
		return 0, usage("--recorder and --thread-dumps exclude one another")
	case f.recorder:
		return sampler.FlightRecorder, nil
	case f.dumps:
		return sampler.ThreadDumps, nil
	}
	return sampler.Undisturbed, nil
}
