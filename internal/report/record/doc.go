// Package record writes profiles as JSON and reads them back: the form of
// docs/formats/profile.md.
package record
