// Package cct holds calling context trees: what hooks measured, made exact by
// taking off what measuring cost, with the error that is left. It does no input
// or output.
package cct
