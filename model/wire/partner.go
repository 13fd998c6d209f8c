package wire

// Partner is a seller of cover. Only operators see the record.
type Partner struct {
	Header
	Slug   string `json:"slug"` // immutable; also the id, and the partner claim of the partner's tokens
	Name   string `json:"name"`
	Status string `json:"status"` // enabled, disabled
}
