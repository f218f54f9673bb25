// Package launch starts programs with Sonde's agent in them, so that they can be
// entered before their first instruction.
package launch
