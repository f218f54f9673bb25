// Package layering contains only tests: which package may import which, how large files may be,
// and which functions may open files (docs/security.md). The allowed imports are listed in layers_test.go.
package layering
