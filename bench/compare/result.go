package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// write keeps a complete result: the JSON, the table and the picture, under one
// name. It never touches a file that is there.
func write(dir string, rep report) (string, error) {
	if len(rep.Incomplete) > 0 {
		return "", fmt.Errorf("an incomplete run is no result: %s", strings.Join(rep.Incomplete, "; "))
	}
	text, err := json.MarshalIndent(rep, "", "  ")
	if err != nil {
		return "", err
	}
	var table bytes.Buffer
	if err := printTable(&table, rep); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	base, err := free(filepath.Join(dir, rep.Date+"-"+slug(rep.GPU)), append(text, '\n'))
	if err != nil {
		return "", err
	}
	return base + ".json", errors.Join(
		os.WriteFile(base+".txt", table.Bytes(), 0o644),
		os.WriteFile(base+".svg", picture(rep), 0o644),
	)
}

// free writes the JSON under the first name that is not taken.
func free(base string, text []byte) (string, error) {
	for i := 1; ; i++ {
		name := base
		if i > 1 {
			name = fmt.Sprintf("%s-%d", base, i)
		}
		f, err := os.OpenFile(name+".json", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(text)
		return name, errors.Join(err, f.Close())
	}
}

// slug is a name as part of a file's name.
func slug(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return '-'
		}
		return unicode.ToLower(r)
	}, name), "-")
}
