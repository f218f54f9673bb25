// Package record writes profiles and climbs as JSON and reads them back: the forms of
// docs/formats/profile.md and docs/formats/climb.md.
package record
