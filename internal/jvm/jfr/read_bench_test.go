package jfr

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// benchSize is how large the recordings are that are read, by repeating one.
const benchSize = 64 << 20

// Benchmarks print MB/s of a recording with every event on: of its samples
// only, and of every field of every event with its thread and stack.

func BenchmarkSamples(b *testing.B) {
	eachRecording(b, func(b *testing.B, data []byte) {
		found, err := ReadSamples(bytes.NewReader(data), int64(len(data)))
		if err != nil || len(found.Samples) == 0 {
			b.Fatalf("%d samples, error %v", len(found.Samples), err)
		}
	})
}

func BenchmarkEveryEvent(b *testing.B) {
	eachRecording(b, func(b *testing.B, data []byte) {
		events, values := 0, 0
		_, err := Read(bytes.NewReader(data), int64(len(data)), Visitor{Event: func(e *Event) bool {
			events++
			e.Start()
			e.Thread()
			e.Stack()
			for _, v := range e.Fields() {
				values++
				switch v.Kind() {
				case String:
					_ = v.Text()
				case Struct, Array, Null:
				default:
					_ = v.Float()
				}
			}
			return true
		}})
		if err != nil || values < events {
			b.Fatalf("%d values in %d events, error %v", values, events, err)
		}
	})
}

// eachRecording runs a benchmark on a recording of each JDK.
func eachRecording(b *testing.B, read func(b *testing.B, data []byte)) {
	for _, jdk := range jvmtest.Installed() {
		b.Run(fmt.Sprintf("jdk%d", jdk.Major), func(b *testing.B) {
			data, err := os.ReadFile(record(b, jdk, 2000))
			if err != nil {
				b.Fatal(err)
			}
			data = bytes.Repeat(data, 1+benchSize/len(data))
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			before := processorTime(b)
			for b.Loop() {
				read(b, data)
			}
			// On a machine with other work the clock tells of that as well.
			spent := processorTime(b) - before
			b.ReportMetric(float64(len(data))*float64(b.N)/1e6/spent.Seconds(), "MB/cpu-s")
		})
	}
}

func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
