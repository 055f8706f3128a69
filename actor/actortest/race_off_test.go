//go:build !race

package actortest_test

const race = false
