package model

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"
	"github.com/go-json-experiment/json/jsontext"
)

// documentKind is what a file of one media type must be like.
type documentKind struct {
	extensions []string
	looks      []string // what its first bytes may look like; empty: reads says more
	text       bool
	reads      func(io.Reader) (flaw string, err error) // of text; nil: any
}

// attachable are the types a claim takes. Text has no signature of its own, so a
// table may look like plain text; a heic picture may name the format it is a case
// of.
var attachable = map[string]documentKind{
	"application/pdf":      {[]string{".pdf"}, []string{"application/pdf"}, false, nil},
	"image/png":            {[]string{".png"}, []string{"image/png"}, false, nil},
	"image/jpeg":           {[]string{".jpg", ".jpeg"}, []string{"image/jpeg"}, false, nil},
	"image/webp":           {[]string{".webp"}, []string{"image/webp"}, false, nil},
	"image/heic":           {[]string{".heic", ".heif"}, []string{"image/heic", "image/heic-sequence", "image/heif", "image/heif-sequence"}, false, nil},
	"text/csv":             {[]string{".csv"}, []string{"text/csv", "text/plain", "text/tab-separated-values"}, true, nil},
	"application/json":     {[]string{".json"}, nil, true, readsAsJSON},
	"application/geo+json": {[]string{".geojson", ".json"}, nil, true, readsAsGeoJSON},
	"text/plain":           {[]string{".txt", ".text", ".log", ".md"}, []string{"text/plain", "text/csv", "text/tab-separated-values"}, true, nil},
}

// check judges everything, and reads the content for its digest. Errors: the content's,
// when it cannot be read.
func (in *AttachmentRequest) check(c *fieldCheck) (digest string, err error) {
	kind, known := attachable[in.ContentType]
	c.that(known, "/content_type", "enum", "A claim takes pdf, png, jpeg, webp, heic, csv, json, geojson and plain text: "+strings.Join(slices.Sorted(maps.Keys(attachable)), ", ")+".")
	c.fileName(in.FileName, kind)
	c.that(in.size() > 0, "/content_base64", "required", "The file is empty.")
	c.that(in.size() <= maxAttachment, "/content_base64", "length", "A file has at most 10 MiB.")
	c.that(in.Purpose == nil || utf8.RuneCountInString(*in.Purpose) <= 100, "/purpose", "length", "Use at most 100 characters.")
	c.that(in.Description == nil || utf8.RuneCountInString(*in.Description) <= 1000, "/description", "length", "Use at most 1000 characters.")
	if digest, err = in.digest(); err != nil {
		return "", err
	}
	c.that(in.SHA256 == nil || !c.readable("/content_base64") || strings.EqualFold(*in.SHA256, digest), "/sha256", "mismatch", "It is not the SHA-256 of the content; was the file damaged on its way?")
	if known && in.size() > 0 && in.size() <= maxAttachment {
		flaw, err := kind.flaw(in)
		if err != nil {
			return "", fmt.Errorf("read attachment: %w", err)
		}
		c.that(flaw == "", "/content_type", "mismatch", flaw)
	}
	return digest, nil
}

const maxFileName = 255

// fileName takes a name that every system can save, and whose extension opens the
// file as what it is.
func (c *fieldCheck) fileName(name string, kind documentKind) {
	if name != strings.TrimSpace(name) || name == "" || utf8.RuneCountInString(name) > maxFileName ||
		strings.ContainsAny(name, `/\`) || strings.ContainsFunc(name, misleading) || strings.Trim(name, ".") == "" {
		c.that(false, "/file_name", "value", "Use a plain file name of 1 to 255 characters, without slashes and control characters, and without blanks at its ends.")
		return
	}
	extension := strings.ToLower(path.Ext(name))
	fits := extension == "" || kind.extensions == nil || slices.Contains(kind.extensions, extension)
	c.that(fits, "/file_name", "mismatch", "For this content_type a name ends in "+strings.Join(kind.extensions, " or ")+", or has no dot.")
}

// misleading characters end a line, or turn the direction of reading so that a
// name looks like another one.
func misleading(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// flaw is why the content is not of the kind, empty when it is.
func (k documentKind) flaw(in *AttachmentRequest) (string, error) {
	if k.looks != nil {
		kind, err := mimetype.DetectReader(in.read())
		if err != nil {
			return "", err
		}
		seen, _, _ := strings.Cut(kind.String(), ";")
		if !slices.Contains(k.looks, seen) {
			return "The content is " + seen + ", not what content_type says.", nil
		}
	}
	if !k.text {
		return "", nil
	}
	flaw, err := readsAsText(in.read())
	if flaw != "" || err != nil || k.reads == nil {
		return flaw, err
	}
	return k.reads(in.read())
}

// readsAsText takes UTF-8 without NUL characters.
func readsAsText(content io.Reader) (flaw string, err error) {
	const notText = "The content is not text in UTF-8; save it in that encoding, without NUL characters."
	block := make([]byte, 32<<10)
	for left := 0; ; {
		n, err := content.Read(block[left:])
		text := block[:left+n]
		whole := wholeCharacters(text)
		if !utf8.Valid(text[:whole]) || bytes.IndexByte(text[:whole], 0) >= 0 {
			return notText, nil
		}
		left = copy(block, text[whole:])
		switch {
		case errors.Is(err, io.EOF) && left > 0:
			return notText, nil
		case errors.Is(err, io.EOF):
			return "", nil
		case err != nil:
			return "", err
		}
	}
}

// wholeCharacters is how much of a text remains without a character that may have been
// cut at its end.
func wholeCharacters(text []byte) int {
	for end := len(text) - 1; end >= 0 && end >= len(text)-utf8.UTFMax; end-- {
		if utf8.RuneStart(text[end]) {
			if utf8.FullRune(text[end:]) {
				break
			}
			return end
		}
	}
	return len(text)
}

// byteOrderMark may stand before a text; RFC 8259 section 8.1 lets readers pass
// over it.
var byteOrderMark = []byte("\ufeff")

// asWritten reads JSON as its grammar has it: what else is wise is the writer's
// matter, for nothing here depends on it.
var asWritten = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// asJSON reads one JSON text without its byte order mark.
func asJSON(content io.Reader) *jsontext.Decoder {
	text := bufio.NewReader(content)
	if mark, err := text.Peek(len(byteOrderMark)); err == nil && bytes.Equal(mark, byteOrderMark) {
		_, _ = text.Discard(len(byteOrderMark)) // it was peeked at
	}
	return jsontext.NewDecoder(text, asWritten...)
}

func readsAsJSON(content io.Reader) (flaw string, err error) {
	d := asJSON(content)
	err = d.SkipValue()
	if err == nil {
		_, err = d.ReadToken()
	}
	return judgeJSON(err)
}

// judgeJSON tells a text that is no JSON from one that could not be read; io.EOF is the
// end of a good one.
func judgeJSON(err error) (flaw string, _ error) {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF), err == nil:
		return "The content is not one JSON text (RFC 8259).", nil
	case errors.Is(err, io.EOF):
		return "", nil
	default:
		return "", err
	}
}

// geometries are the types of RFC 7946 section 1.4.
var geometries = []string{
	"Feature", "FeatureCollection", "GeometryCollection",
	"Point", "MultiPoint", "LineString", "MultiLineString", "Polygon", "MultiPolygon",
}

func readsAsGeoJSON(content io.Reader) (flaw string, err error) {
	kind, err := typeOfObject(asJSON(content))
	if flaw, err := judgeJSON(err); flaw != "" || err != nil {
		return flaw, err
	}
	if !slices.Contains(geometries, kind) {
		return "The content is not GeoJSON: it must be an object whose type is one of " + strings.Join(geometries, ", ") + " (RFC 7946).", nil
	}
	return "", nil
}

// typeOfObject reads a JSON text to its end, and is the string that its member type has
// last; empty when it is no object, or its type no string. The end is io.EOF.
func typeOfObject(d *jsontext.Decoder) (kind string, err error) {
	if d.PeekKind() != '{' {
		if err := d.SkipValue(); err != nil {
			return "", err
		}
		_, err := d.ReadToken()
		return "", err
	}
	if _, err := d.ReadToken(); err != nil {
		return "", err
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return "", err
		}
		if name.String() != "type" || d.PeekKind() != '"' {
			if name.String() == "type" {
				kind = ""
			}
			if err := d.SkipValue(); err != nil {
				return "", err
			}
			continue
		}
		value, err := d.ReadToken()
		if err != nil {
			return "", err
		}
		kind = value.String()
	}
	if _, err := d.ReadToken(); err != nil {
		return "", err
	}
	_, err = d.ReadToken()
	return kind, err
}
