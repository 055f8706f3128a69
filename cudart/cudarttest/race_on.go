//go:build race

package cudarttest

const raceEnabled = true
