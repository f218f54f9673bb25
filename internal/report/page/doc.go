// Package page writes a profile as one HTML file that a browser shows without a
// network: flame graph, tree, methods, and how all of it was measured.
//
// What stands still is written here, so that the page says the essential without
// a script and on paper: header, summary, and how it was measured. What moves
// (flame graph, tree, list of methods, search) is drawn by the scripts in assets
// from the profile that the page carries as JSON. The same JSON is what `sonde
// diff` reads back.
package page
