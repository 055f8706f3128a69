// Command jsonhas checks that standard input is one JSON object and nothing
// else, and that it has what its arguments name: KEY, or KEY=VALUE in JSON.
//
//	program -json | go run ./.ci/jsonhas files errors=[] verified=true
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	in, err := io.ReadAll(os.Stdin)
	if err == nil {
		err = check(in, os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "jsonhas:", err)
		os.Exit(1)
	}
}

func check(in []byte, wants []string) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(in, &object); err != nil {
		return fmt.Errorf("not one JSON object: %w", err)
	}
	for _, w := range wants {
		key, want, valued := strings.Cut(w, "=")
		raw, ok := object[key]
		if !ok {
			return fmt.Errorf("no %q", key)
		}
		var have bytes.Buffer
		if err := json.Compact(&have, raw); err != nil {
			return err
		}
		if valued && have.String() != want {
			return fmt.Errorf("%q is %.200s, not %s", key, &have, want)
		}
	}
	return nil
}
