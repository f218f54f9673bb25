// Package client tests that a program which knows only docs/formats/service.json can use the
// service: it generates a Python client from the document, and a small program written with it
// counts and traces calls in a JVM.
//
//	testdata/program.py   the program
//	testdata/shop/        what it measures
//
// The generator comes from PyPI, so the test only runs with SONDE_CLIENT=1: make client.
package client
