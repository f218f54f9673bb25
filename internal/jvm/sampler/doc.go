// Package recorder has a JVM sample itself: by its flight recorder, or where
// there is none by thread dumps, both asked for over the attach socket. No agent
// is loaded.
//
// A recording of ours is named for the process that started it, so that what a
// killed Sonde left can be told from what a living one uses. It holds nothing but
// samples, keeps little on disk, and ends by itself when it is not renewed.
// Recordings of others are never stopped, changed or written anywhere.
package sampler
