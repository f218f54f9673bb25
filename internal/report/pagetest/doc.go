// Package pagetest serves tests of the pages that Sonde writes: it opens them in
// headless Chromium, acts as a user does, and reads the result from the page.
//
// A machine without Chromium shows as a skip that can be seen and counted; where the
// environment variable SONDE_REQUIRE_CHROMIUM is set, it is a failure.
package pagetest
