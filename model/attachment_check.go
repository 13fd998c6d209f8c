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

// mediaTypeRule is what a file of one media type must be like.
type mediaTypeRule struct {
	extensions []string
	signatures []string // what its first bytes may look like; empty: reads says more
	isText     bool
	findFlaw   func(io.Reader) (flaw string, err error) // of text; nil: any
}

// mediaTypeRules are the types a claim takes. Text has no signature of its own, so a
// table may look like plain text; a heic picture may name the format it is a case
// of.
var mediaTypeRules = map[string]mediaTypeRule{
	"application/pdf":      {[]string{".pdf"}, []string{"application/pdf"}, false, nil},
	"image/png":            {[]string{".png"}, []string{"image/png"}, false, nil},
	"image/jpeg":           {[]string{".jpg", ".jpeg"}, []string{"image/jpeg"}, false, nil},
	"image/webp":           {[]string{".webp"}, []string{"image/webp"}, false, nil},
	"image/heic":           {[]string{".heic", ".heif"}, []string{"image/heic", "image/heic-sequence", "image/heif", "image/heif-sequence"}, false, nil},
	"text/csv":             {[]string{".csv"}, []string{"text/csv", "text/plain", "text/tab-separated-values"}, true, nil},
	"application/json":     {[]string{".json"}, nil, true, findJSONFlaw},
	"application/geo+json": {[]string{".geojson", ".json"}, nil, true, findGeoJSONFlaw},
	"text/plain":           {[]string{".txt", ".text", ".log", ".md"}, []string{"text/plain", "text/csv", "text/tab-separated-values"}, true, nil},
}

// validate judges everything, and reads the content for its digest. Errors: the content's,
// when it cannot be read.
func (in *AttachmentRequest) validate(v *validator) (digest string, err error) {
	kind, known := mediaTypeRules[in.ContentType]
	v.require(known, "/content_type", "enum", "A claim takes pdf, png, jpeg, webp, heic, csv, json, geojson and plain text: "+strings.Join(slices.Sorted(maps.Keys(mediaTypeRules)), ", ")+".")
	v.requireFileName(in.FileName, kind)
	v.require(in.contentSize() > 0, "/content_base64", "required", "The file is empty.")
	v.require(in.contentSize() <= maxAttachmentSize, "/content_base64", "length", "A file has at most 10 MiB.")
	v.require(in.Purpose == nil || utf8.RuneCountInString(*in.Purpose) <= 100, "/purpose", "length", "Use at most 100 characters.")
	v.require(in.Description == nil || utf8.RuneCountInString(*in.Description) <= 1000, "/description", "length", "Use at most 1000 characters.")
	if digest, err = in.contentDigest(); err != nil {
		return "", err
	}
	v.require(in.SHA256 == nil || !v.isParsed("/content_base64") || strings.EqualFold(*in.SHA256, digest), "/sha256", "mismatch", "It is not the SHA-256 of the content; was the file damaged on its way?")
	if known && in.contentSize() > 0 && in.contentSize() <= maxAttachmentSize {
		flaw, err := kind.findContentFlaw(in)
		if err != nil {
			return "", fmt.Errorf("read attachment: %w", err)
		}
		v.require(flaw == "", "/content_type", "mismatch", flaw)
	}
	return digest, nil
}

const maxFileName = 255

// requireFileName takes a name that every system can save, and whose extension opens the
// file as what it is.
func (v *validator) requireFileName(name string, kind mediaTypeRule) {
	if name != strings.TrimSpace(name) || name == "" || utf8.RuneCountInString(name) > maxFileName ||
		strings.ContainsAny(name, `/\`) || strings.ContainsFunc(name, isMisleadingRune) || strings.Trim(name, ".") == "" {
		v.require(false, "/file_name", "value", "Use a plain file name of 1 to 255 characters, without slashes and control characters, and without blanks at its ends.")
		return
	}
	extension := strings.ToLower(path.Ext(name))
	fits := extension == "" || kind.extensions == nil || slices.Contains(kind.extensions, extension)
	v.require(fits, "/file_name", "mismatch", "For this content_type a name ends in "+strings.Join(kind.extensions, " or ")+", or has no dot.")
}

// isMisleadingRune characters end a line, or turn the direction of reading so that a
// name looks like another one.
func isMisleadingRune(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// findContentFlaw is why the content is not of the kind, empty when it is.
func (k mediaTypeRule) findContentFlaw(in *AttachmentRequest) (string, error) {
	if k.signatures != nil {
		kind, err := mimetype.DetectReader(in.contentReader())
		if err != nil {
			return "", err
		}
		seen, _, _ := strings.Cut(kind.String(), ";")
		if !slices.Contains(k.signatures, seen) {
			return "The content is " + seen + ", not what content_type says.", nil
		}
	}
	if !k.isText {
		return "", nil
	}
	flaw, err := findTextFlaw(in.contentReader())
	if flaw != "" || err != nil || k.findFlaw == nil {
		return flaw, err
	}
	return k.findFlaw(in.contentReader())
}

// findTextFlaw takes UTF-8 without NUL characters.
func findTextFlaw(content io.Reader) (flaw string, err error) {
	const notText = "The content is not text in UTF-8; save it in that encoding, without NUL characters."
	block := make([]byte, 32<<10)
	for left := 0; ; {
		n, err := content.Read(block[left:])
		text := block[:left+n]
		whole := completeTextLength(text)
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

// completeTextLength is how much of a text remains without a character that may have been
// cut at its end.
func completeTextLength(text []byte) int {
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

// lenientJSON reads JSON as its grammar has it: what else is wise is the writer's
// matter, for nothing here depends on it.
var lenientJSON = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// newJSONDecoder reads one JSON text without its byte order mark.
func newJSONDecoder(content io.Reader) *jsontext.Decoder {
	text := bufio.NewReader(content)
	if mark, err := text.Peek(len(byteOrderMark)); err == nil && bytes.Equal(mark, byteOrderMark) {
		_, _ = text.Discard(len(byteOrderMark)) // it was peeked at
	}
	return jsontext.NewDecoder(text, lenientJSON...)
}

func findJSONFlaw(content io.Reader) (flaw string, err error) {
	d := newJSONDecoder(content)
	err = d.SkipValue()
	if err == nil {
		_, err = d.ReadToken()
	}
	return classifyJSONError(err)
}

// classifyJSONError tells a text that is no JSON from one that could not be read; io.EOF is the
// end of a good one.
func classifyJSONError(err error) (flaw string, _ error) {
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

// geoJSONTypes are the types of RFC 7946 section 1.4.
var geoJSONTypes = []string{
	"Feature", "FeatureCollection", "GeometryCollection",
	"Point", "MultiPoint", "LineString", "MultiLineString", "Polygon", "MultiPolygon",
}

func findGeoJSONFlaw(content io.Reader) (flaw string, err error) {
	kind, err := readTypeMember(newJSONDecoder(content))
	if flaw, err := classifyJSONError(err); flaw != "" || err != nil {
		return flaw, err
	}
	if !slices.Contains(geoJSONTypes, kind) {
		return "The content is not GeoJSON: it must be an object whose type is one of " + strings.Join(geoJSONTypes, ", ") + " (RFC 7946).", nil
	}
	return "", nil
}

// readTypeMember reads a JSON text to its end, and is the string that its member type has
// last; empty when it is no object, or its type no string. The end is io.EOF.
func readTypeMember(d *jsontext.Decoder) (kind string, err error) {
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
