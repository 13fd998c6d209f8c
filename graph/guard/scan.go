package guard

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/lexer"

	"parapet/model/kernel/apperr"
)

// scanTokens reads tokens until a limit is reached. It keeps nothing, so a text of any
// shape costs at most as much as its first Tokens tokens.
func (g *Guard) scanTokens(text string, work *Work) error {
	if !utf8.ValidString(text) {
		return newError(nil, apperr.CodeValidationFailed, "The query is not UTF-8.")
	}
	tokens, nesting, directives := lexer.New(&ast.Source{Input: text}), 0, 0
	for {
		token, err := tokens.ReadToken()
		if err != nil {
			return toSyntaxError(err)
		}
		switch token.Kind { //nolint:exhaustive // the kinds that are bounded
		case lexer.EOF:
			return nil
		case lexer.BraceL, lexer.BracketL, lexer.ParenL:
			nesting++
		case lexer.BraceR, lexer.BracketR, lexer.ParenR:
			nesting--
		case lexer.At:
			directives++
		case lexer.Name, lexer.String, lexer.BlockString:
			if err := g.checkToken(token); err != nil {
				return err
			}
		}
		work.Tokens++
		switch {
		case work.Tokens > g.limits.Tokens:
			return newCostError(&token.Pos, "The query has more than %d tokens. Ask for less, or in several queries.", g.limits.Tokens)
		case nesting > g.limits.Nesting:
			return newCostError(&token.Pos, "The query nests more than %d brackets. Ask for less at once.", g.limits.Nesting)
		case directives > g.limits.Directives:
			return newCostError(&token.Pos, "The query has more than %d directives. Ask in several queries.", g.limits.Directives)
		}
	}
}

// checkToken rejects names that are too long, and NUL, which the database cannot store.
func (g *Guard) checkToken(token lexer.Token) error {
	switch {
	case token.Kind == lexer.Name && len(token.Value) > g.limits.NameBytes:
		return newCostError(&token.Pos, "A name in the query has more than %d letters; none here is that long.", g.limits.NameBytes)
	case strings.Contains(token.Value, "\x00"):
		return newError(&token.Pos, apperr.CodeValidationFailed, "A text in the query holds a NUL character; leave it out.")
	default:
		return nil
	}
}

// toSyntaxError converts an error of the lexer or parser.
func toSyntaxError(err error) error {
	var found *gqlerror.Error
	if !errors.As(err, &found) {
		return newError(nil, apperr.CodeValidationFailed, "The query is not GraphQL.")
	}
	refused := gqlerror.Wrap(apperr.Fail(apperr.CodeValidationFailed, "The query is not GraphQL: %s", Sentence(found.Message)))
	refused.Locations = found.Locations
	return refused
}

// shownBytes limits the shown part of a gqlparser message, which quotes the document.
const shownBytes = 256

// Sentence returns a gqlparser message, shortened and with a full stop.
func Sentence(message string) string {
	if len(message) > shownBytes {
		return strings.ToValidUTF8(message[:shownBytes], "") + "…"
	}
	if strings.HasSuffix(message, ".") || strings.HasSuffix(message, "?") {
		return message
	}
	return message + "."
}
