package dbconn

import (
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"parapet/model/wire"
)

// RegisterTypes registers how a connection encodes rows: times in UTC, ids as bytes,
// JSON by the encoder of responses and events (the driver's encoder took a quarter of a
// bind's time), boxes as text, because only Postgres interprets them.
func RegisterTypes(types *pgtype.Map) {
	id := &pgtype.Type{Name: "uuid", OID: pgtype.UUIDOID, Codec: uuidCodec{}}
	for _, each := range []*pgtype.Type{
		{Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC}},
		id,
		{Name: "_uuid", OID: pgtype.UUIDArrayOID, Codec: &pgtype.ArrayCodec{ElementType: id}},
		{Name: "json", OID: pgtype.JSONOID, Codec: jsonCodec(types)},
		{Name: "box", OID: pgtype.BoxOID, Codec: boxCodec{}},
	} {
		types.RegisterType(each)
	}
}

// jsonCodec returns the driver's codec with the encoder of responses and events.
func jsonCodec(types *pgtype.Map) pgtype.Codec {
	known, _ := types.TypeForOID(pgtype.JSONOID)
	codec := *known.Codec.(*pgtype.JSONCodec) //nolint:forcetypeassert // the driver's own
	codec.Marshal, codec.Unmarshal = wire.Encode, wire.Decode
	return &codec
}

// uuidCodec copies the sixteen bytes. The driver's codec would format an id as text and
// parse it again, twice per statement.
type uuidCodec struct{ pgtype.UUIDCodec }

// PlanEncode implements pgtype.Codec.
func (c uuidCodec) PlanEncode(types *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	switch value.(type) {
	case uuid.UUID, *uuid.UUID: // a nil pointer does not reach this codec
		if format == pgtype.BinaryFormatCode {
			return uuidPlan{}
		}
	}
	return c.UUIDCodec.PlanEncode(types, oid, format, value)
}

// PlanScan implements pgtype.Codec.
func (c uuidCodec) PlanScan(types *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	if _, ours := target.(*uuid.UUID); ours && format == pgtype.BinaryFormatCode {
		return uuidPlan{}
	}
	return c.UUIDCodec.PlanScan(types, oid, format, target)
}

type uuidPlan struct{}

// Encode implements pgtype.EncodePlan.
func (uuidPlan) Encode(value any, out []byte) ([]byte, error) {
	id, plain := value.(uuid.UUID)
	if !plain {
		id = *value.(*uuid.UUID) //nolint:forcetypeassert // planned for no other
	}
	return append(out, id[:]...), nil
}

// Scan implements pgtype.ScanPlan.
func (uuidPlan) Scan(in []byte, target any) (err error) {
	id, _ := target.(*uuid.UUID)
	*id, err = uuid.FromBytes(in)
	return err
}

type boxCodec struct{ pgtype.BoxCodec }

// PreferredFormat implements pgtype.Codec.
func (boxCodec) PreferredFormat() int16 { return pgtype.TextFormatCode }
