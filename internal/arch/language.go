package arch

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// refusedWords are metaphors and archaisms, with what to write instead. They are
// refused in comments and in the names that a file declares.
var refusedWords = map[string]string{
	"heed": "apply", "anew": "again", "hither": "here", "mere": "only", "thereby": "so", "wherein": "where", "therein": "in it", "thereof": "of it", "lest": "so that … not",
	"amid": "during", "hasten": "scale", "astray": "to the wrong account", "tongue": "field names", "court": "executor", "kin": "batch", "shelf": "collection", "scene": "scenario",
	"ward": "checker", "patient": "checker", "bell": "notifier", "desk": "operator UI", "whichever": "any", "telling": "reporting", "mended": "repaired", "plumbing": "internal packages",
	"finding": "reconciliation exception", "findings": "reconciliation exceptions", "parked": "failed", "vitals": "health stats", "haste": "delay divisor", "stranger": "unauthenticated caller",
	"beside": "next to, together with", "told": "informed", "tells": "says, shows", "whom": "who",
}

// word is a word of a sentence.
var word = regexp.MustCompile(`[\pL']+`)

func checkWords(tree *Tree) (broken []string) {
	refuse := func(file *File, node ast.Node, w string) {
		if instead, refused := refusedWords[strings.ToLower(w)]; refused {
			broken = append(broken, fmt.Sprintf("%s: the word %q is no technical term: write %q, or say what happens", file.position(node), w, instead))
		}
	}
	for _, file := range tree.Files {
		if isWithin(file.Dir(), "internal/arch") {
			continue // it lists them
		}
		for _, group := range file.AST.Comments {
			for _, line := range group.List {
				for _, w := range word.FindAllString(line.Text, -1) {
					refuse(file, line, w)
				}
			}
		}
		for _, name := range declaredNames(file) {
			for _, w := range splitName(name.Name) {
				refuse(file, name, w)
			}
		}
	}
	return broken
}

// splitName splits a name at its capitals, underscores, hyphens and dots.
func splitName(name string) []string {
	var words []string
	start, runes := 0, []rune(name)
	for i := 1; i <= len(runes); i++ {
		if i == len(runes) || strings.ContainsRune("_-.", runes[i]) ||
			unicode.IsUpper(runes[i]) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			if w := strings.Trim(string(runes[start:i]), "_-."); w != "" {
				words = append(words, w)
			}
			start = i
		}
	}
	return words
}

// maxOneWordShare is the largest share of unexported functions and methods that have a
// name of one word, in percent. River has 8, ledger 9, GoAlert 19, WTF 20, Boulder 21.
const maxOneWordShare = 25

func checkOneWordNames(tree *Tree) []string {
	all := 0
	var short []string
	for _, file := range tree.Files {
		if file.Test {
			continue
		}
		for _, function := range file.functionDecls() {
			name := function.Name.Name
			if function.Name.IsExported() || slices.Contains([]string{"init", "main", "_"}, name) {
				continue
			}
			all++
			if len(splitName(name)) == 1 {
				short = append(short, name)
			}
		}
	}
	if all == 0 || len(short)*100 <= all*maxOneWordShare {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d unexported functions have a name of one word, more than %d %%: name a function by a verb and its object", len(short), all, maxOneWordShare)}
}
