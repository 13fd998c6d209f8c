package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"parapet/model/dbconn"
)

// Bucket stores objects in an S3-compatible store. It implements model.Files.
type Bucket struct {
	client *minio.Client
	bucket string
	prefix string
}

// OpenS3 reads an address of the form
//
//	s3://bucket/prefix?endpoint=https://host&region=eu-central-1
//
// and takes the keys from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from the
// machine's role. Without an endpoint it uses Amazon S3. It does not connect yet.
func OpenS3(address string) (*Bucket, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "s3" || u.Host == "" {
		return nil, fmt.Errorf("file store %q: use s3://bucket/prefix?endpoint=https://host&region=name", address)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("file store: %w", err)
	}
	endpoint, err := url.Parse(query.Get("endpoint"))
	if err != nil {
		return nil, fmt.Errorf("file store: endpoint: %w", err)
	}
	if endpoint.Host == "" {
		endpoint = &url.URL{Scheme: "https", Host: "s3.amazonaws.com"}
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds:  credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.IAM{}}),
		Secure: endpoint.Scheme == "https", Region: query.Get("region"),
	})
	if err != nil {
		return nil, fmt.Errorf("file store: %w", err)
	}
	return &Bucket{client, u.Host, strings.Trim(u.Path, "/")}, nil
}

func (b *Bucket) objectName(key string) string {
	return strings.TrimPrefix(b.prefix+"/"+key, "/")
}

// partSize is the part of a stream of unknown length that is held in memory: the largest
// attachment, so that one request stores all of it or nothing.
const partSize = 16 << 20

// Put stores all of r under key or nothing: it aborts an interrupted upload.
func (b *Bucket) Put(ctx context.Context, key string, r io.Reader) error {
	if err := dbconn.RequireNoTransaction(ctx); err != nil {
		return err
	}
	length := int64(-1)
	if sized, ok := r.(interface{ Size() int64 }); ok {
		length = sized.Size() // streamed without buffering
	}
	_, err := b.client.PutObject(ctx, b.bucket, b.objectName(key), r, length, minio.PutObjectOptions{
		ContentType: "application/octet-stream", PartSize: partSize,
		DisableContentSha256: true, // TLS protects the transfer, and the record has the SHA-256
	})
	if err != nil {
		return fmt.Errorf("store %s: %w", key, err)
	}
	return nil
}

// Open reads an object; the caller closes it. A missing one is fs.ErrNotExist.
func (b *Bucket) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := dbconn.RequireNoTransaction(ctx); err != nil {
		return nil, err
	}
	object, err := b.client.GetObject(ctx, b.bucket, b.objectName(key), minio.GetObjectOptions{})
	if err == nil {
		_, err = object.Stat() // GetObject alone makes no request
	}
	if err != nil && minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		err = errors.Join(fs.ErrNotExist, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", key, err)
	}
	return object, nil
}

// Delete removes an object; a missing one is no error.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	if err := dbconn.RequireNoTransaction(ctx); err != nil {
		return err
	}
	if err := b.client.RemoveObject(ctx, b.bucket, b.objectName(key), minio.RemoveObjectOptions{}); err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	return nil
}

// Close does nothing: idle connections end by themselves.
func (b *Bucket) Close() error { return nil }
