package webhooks

// DeliveryStatus is the status of an event's delivery to an endpoint. Its changes write
// no events.
type DeliveryStatus string

const (
	// DeliveryPending deliveries are tried again at next_attempt_at.
	DeliveryPending DeliveryStatus = "pending"
	// DeliveryDelivered deliveries were answered with 2xx.
	DeliveryDelivered DeliveryStatus = "delivered"
	// DeliveryFailed deliveries failed ten times; they are sent again only on request.
	DeliveryFailed DeliveryStatus = "failed"
)
