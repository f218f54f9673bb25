// Package layering holds no code: its tests keep the shape of the repository.
// The allowed import graph stands as data in layers_test.go.
package layering
