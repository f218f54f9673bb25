// Package waterfall shows transactions to people: as a list, and each with time across
// and depth down, on a terminal and as a page; and to programs in Sonde's own JSON
// (docs/formats/trace.md).
//
// Bars lie where the clock had the calls; figures are without what the hooks took.
package waterfall
