package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// buildStamp identifies the tree of the built programs.
type buildStamp struct {
	Digest   string
	Switched map[int]bool
}

func (b *switchedBuild) stampFile() string { return filepath.Join(b.dir, "stamp.json") }

// isBuilt reports whether the programs of this tree exist already.
func (b *switchedBuild) isBuilt() bool {
	text, err := os.ReadFile(b.stampFile())
	s := buildStamp{}
	if err != nil || json.Unmarshal(text, &s) != nil || s.Digest != b.digest {
		return false
	}
	b.switched = s.Switched
	return true
}

func (b *switchedBuild) saveStamp() error {
	text, err := json.Marshal(buildStamp{b.digest, b.switched})
	if err != nil {
		return err
	}
	return os.WriteFile(b.stampFile(), text, 0o600)
}

// treeDigest returns a digest of every source of the tree, the options and the mutants.
func treeDigest(o options, all []*mutant) (string, error) {
	sum := sha256.New()
	for _, m := range all {
		_, _ = fmt.Fprintln(sum, m.key)
	}
	add := func(path string) error {
		text, err := os.ReadFile(path) //nolint:gosec // a file of the tree
		_, _ = fmt.Fprintf(sum, "%s %d\n", path, len(text))
		_, _ = sum.Write(text)
		return err
	}
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !slices.Contains([]string{".go", ".sql", ".mod", ".yaml", ".yml"}, filepath.Ext(path)) {
			return err
		}
		return add(path)
	})
	_, _ = fmt.Fprintln(sum, o.packages, o.suites)
	return hex.EncodeToString(sum.Sum(nil))[:16], err
}
