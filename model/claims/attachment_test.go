package claims_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

// files are small documents of every type that a claim accepts.
var files = map[string]string{
	"application/pdf":      "%PDF-1.7\n%âãÏÓ\n",
	"image/png":            "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
	"image/jpeg":           "\xff\xd8\xff\xe0\x00\x10JFIF\x00",
	"image/webp":           "RIFF\x24\x00\x00\x00WEBPVP8 ",
	"image/heic":           "\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic",
	"text/csv":             "day,mm\n2018-02-06,1\n2018-02-07,2\n",
	"application/json":     `{"cracks": 3}`,
	"application/geo+json": `{"type": "Point", "coordinates": [121.6, 23.9]}`,
	"text/plain":           "The hall has cracks.",
}

// storedFiles lists the files in a bundle's folder.
func storedFiles(t *testing.T, b *modeltest.Bundle) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(b.Files, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, path)
		}
		return err
	}))
	return names
}

func TestAttachmentAcceptsEveryMediaType(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	for kind, content := range files {
		attached, err := b.Service.Claims.AddAttachment(t.Context(), b.Acme, claim.ID, claims.AttachmentRequest{FileName: "proof", ContentType: kind, Content: strings.NewReader(content)})
		require.NoError(t, err, kind)
		sum := sha256.Sum256([]byte(content))
		require.Equal(t, hex.EncodeToString(sum[:]), attached.SHA256)
		read, bytes, err := b.Service.Claims.OpenAttachment(t.Context(), b.Acme, claim.ID, attached.ID)
		require.NoError(t, err)
		got, err := io.ReadAll(bytes)
		require.NoError(t, errors.Join(err, bytes.Close()))
		require.Equal(t, content, string(got))
		require.Equal(t, attached, read)
		_, _, err = b.Service.Claims.OpenAttachment(t.Context(), b.Globex, claim.ID, attached.ID)
		require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)
	}
	list, err := b.Service.Claims.GetAttachments(t.Context(), b.Acme, claim.ID, store.PageRequest{})
	require.NoError(t, err)
	require.Len(t, list.Data, len(files))
}

func TestAttachmentKeepsFileName(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	for name, kind := range map[string]string{
		"Schäden \"1\".JPG": "image/jpeg", "損害　写真.jpeg": "image/jpeg", "گزارش\u200cها.pdf": "application/pdf", "👩\u200d🚒.heif": "image/heic",
		"points.json": "application/geo+json", "with.points.geojson": "application/geo+json", strings.Repeat("é", 251) + ".txt": "text/plain", "no extension": "text/csv",
	} {
		attached, err := b.Service.Claims.AddAttachment(t.Context(), b.Acme, claim.ID, modeltest.NewAttachment(name, kind, files[kind]))
		require.NoError(t, err, name)
		require.Equal(t, name, attached.FileName)
	}
	for _, content := range []string{`{"type":"FeatureCollection","features":[]}`, "\ufeff" + `{"a":1,"type":"Point"}`} {
		_, err := b.Service.Claims.AddAttachment(t.Context(), b.Acme, claim.ID, modeltest.NewAttachment("a", "application/geo+json", content))
		require.NoError(t, err, content)
	}
	for _, content := range []string{`[1, 2]`, `"text"`, "null", `{"a":1,"a":"\ud800"}`} {
		_, err := b.Service.Claims.AddAttachment(t.Context(), b.Acme, claim.ID, modeltest.NewAttachment("a.json", "application/json", content))
		require.NoError(t, err, content)
	}
	behind, err := b.Service.Claims.AddAttachment(t.Context(), b.Acme, claim.ID, modeltest.NewAttachment("a.png", "image/png", files["image/png"]+"<html>"))
	require.NoError(t, err)
	require.Equal(t, "image/png", behind.ContentType)
}

// Only content of the declared type is accepted; text is accepted for all text types.
func TestAttachmentContentMustMatchMediaType(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	takes := map[string][]string{
		"application/json": {"application/geo+json"}, "text/csv": {"text/plain"}, "text/plain": {"text/csv"},
	}
	for declared := range files {
		for is, content := range files {
			_, err := b.Service.Claims.AddAttachment(t.Context(), b.Acme, claim.ID, modeltest.NewAttachment("a", declared, content))
			if is == declared || slices.Contains(takes[declared], is) {
				require.NoError(t, err, "%s as %s", is, declared)
				continue
			}
			require.Equal(t, []string{"/content_type"}, modeltest.FieldPointers(modeltest.DomainError(t, err)), "%s as %s", is, declared)
		}
	}
}

// A claim accepts fifty documents even under concurrent requests, and no rejected file
// remains.
func TestClaimAcceptsAtMostFiftyAttachments(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	var taken, refused atomic.Int64
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			for range 9 {
				_, err := b.Service.Claims.AddAttachment(t.Context(), b.Acme, claim.ID, modeltest.NewAttachment("a.txt", "text/plain", "x"))
				if apperr.CodeOf(err) == apperr.CodeStateConflict {
					refused.Add(1)
				} else if err == nil {
					taken.Add(1)
				}
			}
		})
	}
	all.Wait()
	require.Equal(t, int64(50), taken.Load())
	require.Equal(t, int64(4), refused.Load())
	require.Len(t, storedFiles(t, b), 50)
}

func TestInvalidAttachmentIsRejected(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	for name, tc := range map[string]struct {
		in      claims.AttachmentRequest
		pointer string
	}{
		"other extension":                      {modeltest.NewAttachment("a.pdf", "image/png", files["image/png"]), "/file_name"},
		"a program's name":                     {modeltest.NewAttachment("a.txt.exe", "text/plain", "x"), "/file_name"},
		"blank name":                           {modeltest.NewAttachment(" \u3000", "text/plain", "x"), "/file_name"},
		"blank at the end":                     {modeltest.NewAttachment("a.txt ", "text/plain", "x"), "/file_name"},
		"folder":                               {modeltest.NewAttachment(`c:\a.txt`, "text/plain", "x"), "/file_name"},
		"dots":                                 {modeltest.NewAttachment("..", "text/plain", "x"), "/file_name"},
		"long name":                            {modeltest.NewAttachment(strings.Repeat("a", 252)+".txt", "text/plain", "x"), "/file_name"},
		"name with reversed reading direction": {modeltest.NewAttachment("a\u202etxt.csv", "text/csv", "x"), "/file_name"},
		"broken JSON":                          {modeltest.NewAttachment("a.json", "application/json", `{"a":`), "/content_type"},
		"two JSON texts":                       {modeltest.NewAttachment("a.json", "application/json", `{} {}`), "/content_type"},
		"no GeoJSON type":                      {modeltest.NewAttachment("a.geojson", "application/geo+json", `{"type":"Circle"}`), "/content_type"},
		"GeoJSON in a list":                    {modeltest.NewAttachment("a.geojson", "application/geo+json", `[{"type":"Point"}]`), "/content_type"},
		"GeoJSON without":                      {modeltest.NewAttachment("a.geojson", "application/geo+json", `{"Type":"Point"}`), "/content_type"},
		"Latin-1":                              {modeltest.NewAttachment("a.csv", "text/csv", "day,sch\xe4den\n1,2\n3,4\n"), "/content_type"},
		"UTF-16":                               {modeltest.NewAttachment("a.txt", "text/plain", "\xff\xfea\x00b\x00"), "/content_type"},
		"late NUL":                             {modeltest.NewAttachment("a.txt", "text/plain", strings.Repeat("text\n", 1000)+"\x00"), "/content_type"},
		"SVG as text":                          {modeltest.NewAttachment("a.txt", "text/plain", `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>`), "/content_type"},
		"declared type differs":                {claims.AttachmentRequest{FileName: "a.png", ContentType: "image/png", Content: strings.NewReader(files["application/pdf"])}, "/content_type"},
		"html as text":                         {claims.AttachmentRequest{FileName: "a.txt", ContentType: "text/plain", Content: strings.NewReader("<html><script>alert(1)</script></html>")}, "/content_type"},
		"unknown type":                         {claims.AttachmentRequest{FileName: "a.exe", ContentType: "application/zip", Content: strings.NewReader("PK\x03\x04")}, "/content_type"},
		"over 10 MiB":                          {claims.AttachmentRequest{FileName: "a.txt", ContentType: "text/plain", Content: strings.NewReader(strings.Repeat("x", 10<<20+1))}, "/content_base64"},
		"empty":                                {claims.AttachmentRequest{FileName: "a.txt", ContentType: "text/plain"}, "/content_base64"},
		"wrong digest":                         {claims.AttachmentRequest{FileName: "a.txt", ContentType: "text/plain", Content: strings.NewReader("x"), SHA256: new(strings.Repeat("0", 64))}, "/sha256"},
		"path as name":                         {claims.AttachmentRequest{FileName: "../a.txt", ContentType: "text/plain", Content: strings.NewReader("x")}, "/file_name"},
		"control chars":                        {claims.AttachmentRequest{FileName: "a\r\nX: y", ContentType: "text/plain", Content: strings.NewReader("x")}, "/file_name"},
	} {
		_, err := b.Service.Claims.AddAttachment(t.Context(), b.Acme, claim.ID, tc.in)
		require.Equal(t, []string{tc.pointer}, modeltest.FieldPointers(modeltest.DomainError(t, err)), name)
	}
	require.Empty(t, storedFiles(t, b))
}

// A file without a record is gone after a day, for any failure between storing it and
// committing its record; files with records remain.
func TestFailedAttachmentLeavesNoFile(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	kept, err := b.Service.Claims.AddAttachment(t.Context(), b.Acme, claim.ID, modeltest.NewAttachment("kept.txt", "text/plain", "x"))
	require.NoError(t, err)
	_, err = b.DB.Pool.Exec(t.Context(), "alter table attachments add constraint attachments_broken_check check (file_name <> 'a.txt')")
	require.NoError(t, err)
	for range 2 {
		_, err = b.Service.Claims.AddAttachment(t.Context(), b.Acme, claim.ID, modeltest.NewAttachment("a.txt", "text/plain", "x"))
		require.Error(t, err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = b.Service.Claims.AddAttachment(cancelled, b.Acme, claim.ID, modeltest.NewAttachment("a.txt", "text/plain", "x"))
	require.Error(t, err)
	require.Len(t, storedFiles(t, b), 3)
	b.AdvanceClock(23 * time.Hour)
	b.Sweep()
	b.RunJobs()
	require.Len(t, storedFiles(t, b), 3, "their requests may still be running")
	b.AdvanceClock(2 * time.Hour)
	b.Sweep()
	b.RunJobs()
	require.Len(t, storedFiles(t, b), 1)
	_, content, err := b.Service.Claims.OpenAttachment(t.Context(), b.Acme, claim.ID, kept.ID)
	require.NoError(t, err)
	require.NoError(t, content.Close())
}

func TestFileIsDeletedWhenItsUploadNeverCompletes(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	inTx := func(change func(context.Context, *store.Tx) error) error {
		return b.Service.Claims.InTx(t.Context(), actor.System(), change)
	}
	_, err := b.DB.Pool.Exec(t.Context(), `insert into pending_uploads select 'old-' || i, now() - interval '24 hours 1 second' from generate_series(1, $1) as i`, store.SweepBatchSize+1)
	require.NoError(t, err)
	_, err = b.DB.Pool.Exec(t.Context(), "insert into pending_uploads values ('new', now() - interval '23 hours 59 minutes')")
	require.NoError(t, err)
	for _, want := range []int{store.SweepBatchSize, 1, 0} {
		require.NoError(t, inTx(func(ctx context.Context, tx *store.Tx) error {
			n, err := claims.DeleteOrphanFiles(ctx, tx)
			require.Equal(t, want, n)
			require.Equal(t, want > 0, len(tx.Jobs) == 1)
			if want > 0 {
				require.Len(t, tx.Jobs[0].(store.DeleteFiles).Keys, want)
			}
			return err
		}))
	}
	complete := func() error {
		return inTx(func(ctx context.Context, tx *store.Tx) error { return claims.CompleteUpload(ctx, tx, "new") })
	}
	require.NoError(t, complete())
	require.ErrorContains(t, complete(), "the file was given up")
	require.ErrorContains(t, inTx(func(ctx context.Context, tx *store.Tx) error { return claims.CompleteUpload(ctx, tx, "old-1") }), "the file was given up")
}

// A file that the sweep scheduled for deletion cannot get a record.
func TestOrphanFileGetsNoAttachment(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	_, err := b.DB.Pool.Exec(t.Context(), "create rule given_up as on insert to pending_uploads do instead nothing")
	require.NoError(t, err)
	_, err = b.Service.Claims.AddAttachment(t.Context(), b.Acme, claim.ID, modeltest.NewAttachment("a.txt", "text/plain", "x"))
	require.ErrorContains(t, err, "given up")
	list, err := b.Service.Claims.GetAttachments(t.Context(), b.Acme, claim.ID, store.PageRequest{})
	require.NoError(t, err)
	require.Empty(t, list.Data)
}

func TestMessagesAreListedInOrder(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	for _, body := range []string{"Hello.", "Is anybody there?\nYes 🌏", "Thank you."} {
		message, err := b.Service.Claims.AddMessage(t.Context(), b.Acme, claim.ID, body)
		require.NoError(t, err)
		require.Equal(t, "partner", message.Author.Kind)
	}
	list, err := b.Service.Claims.GetMessages(t.Context(), b.Operator, claim.ID, store.PageRequest{})
	require.NoError(t, err)
	require.Len(t, list.Data, 3)
	require.Equal(t, "Hello.", list.Data[0].Body)
	for _, body := range []string{"", "  \n", strings.Repeat("é", 10_001)} {
		_, err := b.Service.Claims.AddMessage(t.Context(), b.Acme, claim.ID, body)
		require.Equal(t, []string{"/body"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
	}
	_, err = b.Service.Claims.AddMessage(t.Context(), b.Globex, claim.ID, "Hello.")
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)
}

func TestTimelineIsPaged(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim, other := modeltest.NewApprovedClaim(b), modeltest.NewApprovedClaim(b)
	var kinds []string
	page := store.PageRequest{Limit: 2}
	for {
		list, err := b.Service.Claims.GetTimeline(t.Context(), b.Acme, claim.ID, page)
		require.NoError(t, err)
		for i, entry := range list.Data {
			require.Equal(t, int64(len(kinds)+1), entry.Sequence, i)
			kinds = append(kinds, entry.Kind)
		}
		require.Equal(t, list.HasMore, list.NextCursor != nil)
		if !list.HasMore {
			break
		}
		page.Cursor = *list.NextCursor
		_, err = b.Service.Claims.GetTimeline(t.Context(), b.Acme, other.ID, page)
		require.Equal(t, apperr.CodeCursorInvalid, modeltest.DomainError(t, err).Code, "a cursor of another list")
		_, err = b.Service.Claims.GetTimeline(t.Context(), b.Operator, claim.ID, page)
		require.Equal(t, apperr.CodeCursorInvalid, modeltest.DomainError(t, err).Code, "a cursor of another caller")
	}
	require.Equal(t, b.TimelineKinds(claim.ID), kinds)
	for _, cursor := range []string{"x", "AAAA", "!", strings.Repeat("A", 5000)} {
		_, err := b.Service.Claims.GetTimeline(t.Context(), b.Acme, claim.ID, store.PageRequest{Cursor: cursor})
		require.Equal(t, apperr.CodeCursorInvalid, modeltest.DomainError(t, err).Code)
	}
	_, err := b.Service.Claims.GetTimeline(t.Context(), b.Acme, claim.ID, store.PageRequest{Limit: 101})
	require.Equal(t, apperr.CodeParameterInvalid, modeltest.DomainError(t, err).Code)
}
