package node

import (
	"context"

	"parapet/graph/scalar"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/quoting/catalog"
	"parapet/model/wire"
)

// PriceHistories lists the editions of the price history.
func (r *Reader) PriceHistories(ctx context.Context) (all []*wire.PriceHistory, err error) {
	list, err := r.Service.Products.PriceHistories(ctx, r.Actor)
	for i := range list {
		all = append(all, &list[i])
	}
	return all, err
}

// PriceHistoryFile returns a file of the price history.
func (r *Reader) PriceHistoryFile(ctx context.Context, digest string) (*string, error) {
	file, err := r.Service.Products.PriceHistoryFile(ctx, r.Actor, digest)
	return &file, err
}

// LoadPriceHistoryInput is the input of LoadPriceHistory.
type LoadPriceHistoryInput struct {
	ContentBase64    scalar.Content
	Reason           string
	DryRun           *bool
	ClientMutationID *string
}

// LoadPriceHistoryPayload is the edition and what it changes.
type LoadPriceHistoryPayload struct {
	PriceHistory     *wire.PriceHistory
	Prices           []wire.PriceChange
	ClientMutationID *string
}

// LoadPriceHistory makes a file the history of new quotes.
func (r *Reader) LoadPriceHistory(ctx context.Context, in LoadPriceHistoryInput) (*LoadPriceHistoryPayload, error) {
	if in.ContentBase64.NotBase64 {
		ctx = apperr.WithFieldErrors(ctx, apperr.FieldError{Pointer: "/content_base64", Code: "format", Detail: "Give the bytes in base64 (RFC 4648 section 4, padded)."})
	}
	client := in.ClientMutationID
	in.ClientMutationID = nil // not part of the request's identity
	loaded, err := runMutation(ctx, r, client, in, func(ctx context.Context, actor actor.Actor, in LoadPriceHistoryInput) (*catalog.LoadedHistory, error) {
		request := catalog.LoadHistoryRequest{Content: in.ContentBase64, Reason: in.Reason, DryRun: in.DryRun != nil && *in.DryRun}
		return r.Service.Products.LoadPriceHistory(ctx, actor, request)
	})
	if err != nil {
		return nil, err
	}
	return &LoadPriceHistoryPayload{&loaded.PriceHistory, loaded.Prices, client}, nil
}

// RetirePriceHistoryInput is the input of RetirePriceHistory.
type RetirePriceHistoryInput struct {
	catalog.RetireHistoryRequest
	ClientMutationID *string
}

// RetirePriceHistoryPayload is the retired edition.
type RetirePriceHistoryPayload struct {
	PriceHistory     *wire.PriceHistory
	ClientMutationID *string
}

// RetirePriceHistory stops the use of an edition for new quotes.
func (r *Reader) RetirePriceHistory(ctx context.Context, in RetirePriceHistoryInput) (*RetirePriceHistoryPayload, error) {
	history, err := runMutation(ctx, r, in.ClientMutationID, in.RetireHistoryRequest, r.Service.Products.RetirePriceHistory)
	return &RetirePriceHistoryPayload{history, in.ClientMutationID}, err
}

// Stations lists the stations by name.
func (r *Reader) Stations(ctx context.Context, first *int, after *string) (*StationConnection, error) {
	return toConnection(asNodes[wire.Station])(r.Service.Products.Stations(ctx, r.Actor, pageRequest(first, after)))
}

// RegisterStationInput is the input of RegisterStation.
type RegisterStationInput struct {
	catalog.StationRequest
	ClientMutationID *string
}

// RegisterStationPayload is the station after a mutation.
type RegisterStationPayload struct {
	Station          *wire.Station
	ClientMutationID *string
}

// RegisterStation registers a station or changes its registration.
func (r *Reader) RegisterStation(ctx context.Context, in RegisterStationInput) (*RegisterStationPayload, error) {
	station, err := runMutation(ctx, r, in.ClientMutationID, in.StationRequest, r.Service.Products.RegisterStation)
	return &RegisterStationPayload{station, in.ClientMutationID}, err
}
