package claims

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

	"parapet/model/kernel/apperr"
)

// mediaTypeRule describes valid files of one media type.
type mediaTypeRule struct {
	extensions []string
	signatures []string // accepted detected types; nil: findFlaw checks the content
	isText     bool
	findFlaw   func(io.Reader) (flaw string, err error) // of text; nil: any
}

// mediaTypeRules are the media types that a claim accepts. Text has no signature of its
// own, so a table may be detected as plain text, and a heic image may be detected as the
// more general format.
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

// validate checks all fields, and reads the content to compute its digest. Errors: read
// errors of the content.
func (in *AttachmentRequest) validate(v *apperr.Validator) (digest string, err error) {
	kind, known := mediaTypeRules[in.ContentType]
	v.Require(known, "/content_type", "enum", "Send pdf, png, jpeg, webp, heic, csv, json, geojson or plain text: "+strings.Join(slices.Sorted(maps.Keys(mediaTypeRules)), ", ")+".")
	requireFileName(v, in.FileName, kind)
	v.Require(in.contentSize() > 0, "/content_base64", "required", "The file is empty.")
	v.Require(in.contentSize() <= maxAttachmentSize, "/content_base64", "length", "A file has at most 10 MiB.")
	v.Require(in.Purpose == nil || utf8.RuneCountInString(*in.Purpose) <= 100, "/purpose", "length", "Use at most 100 characters.")
	v.Require(in.Description == nil || utf8.RuneCountInString(*in.Description) <= 1000, "/description", "length", "Use at most 1000 characters.")
	if digest, err = in.contentDigest(); err != nil {
		return "", err
	}
	v.Require(in.SHA256 == nil || !v.IsParsed("/content_base64") || strings.EqualFold(*in.SHA256, digest), "/sha256", "mismatch", "It is not the SHA-256 of the content; send the file again, or correct the hash.")
	if known && in.contentSize() > 0 && in.contentSize() <= maxAttachmentSize {
		flaw, err := kind.findContentFlaw(in)
		if err != nil {
			return "", fmt.Errorf("read attachment: %w", err)
		}
		v.Require(flaw == "", "/content_type", "mismatch", flaw)
	}
	return digest, nil
}

const maxFileName = 255

// requireFileName accepts a name that every system can store and whose extension fits the
// media type.
func requireFileName(v *apperr.Validator, name string, kind mediaTypeRule) {
	if name != strings.TrimSpace(name) || name == "" || utf8.RuneCountInString(name) > maxFileName ||
		strings.ContainsAny(name, `/\`) || strings.ContainsFunc(name, isMisleadingRune) || strings.Trim(name, ".") == "" {
		v.Require(false, "/file_name", "value", "Use a plain file name of 1 to 255 characters, without slashes and control characters, and without blanks at its ends.")
		return
	}
	extension := strings.ToLower(path.Ext(name))
	fits := extension == "" || kind.extensions == nil || slices.Contains(kind.extensions, extension)
	v.Require(fits, "/file_name", "mismatch", "For this content_type a name ends in "+strings.Join(kind.extensions, " or ")+", or has no dot.")
}

// isMisleadingRune reports whether a character ends a line or changes the reading
// direction, which can make a name look like another one.
func isMisleadingRune(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// findContentFlaw returns why the content is not of the media type, or "" when it is.
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

// findTextFlaw accepts UTF-8 without NUL characters.
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

// completeTextLength returns the length of the text without an incomplete character at
// its end.
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

// byteOrderMark may precede a text; RFC 8259 section 8.1 lets readers ignore it.
var byteOrderMark = []byte("\ufeff")

// lenientJSON accepts any JSON that the grammar allows. Duplicate names and invalid UTF-8
// are harmless because Parapet does not use the content.
var lenientJSON = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// newJSONDecoder reads one JSON text and skips its byte order mark.
func newJSONDecoder(content io.Reader) *jsontext.Decoder {
	text := bufio.NewReader(content)
	if mark, err := text.Peek(len(byteOrderMark)); err == nil && bytes.Equal(mark, byteOrderMark) {
		_, _ = text.Discard(len(byteOrderMark)) // it was peeked before
	}
	return jsontext.NewDecoder(text, lenientJSON...)
}

func findJSONFlaw(content io.Reader) (flaw string, err error) {
	d := newJSONDecoder(content)
	err = d.SkipValue()
	switch {
	case err == nil:
		_, err = d.ReadToken()
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF // there is no text, only white space
	}
	return classifyJSONError(err)
}

// classifyJSONError separates invalid JSON from a read error. io.EOF is the end of valid
// JSON.
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

// readTypeMember reads a JSON text to its end and returns the last string value of its
// member "type", or "" when the text is not an object or the type is not a string. At the
// end the error is io.EOF.
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
		isType := name.String() == "type" // read now: PeekKind invalidates the token
		if !isType || d.PeekKind() != '"' {
			if isType {
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
