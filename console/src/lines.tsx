// Columns and parts that several pages share.
import { Link } from "wouter";
import { ago } from "./format";
import { t } from "./texts";
import { type FeedEvent } from "./shell";

const folders: Record<string, string> = { policy: "policies", claim: "claims", payout: "payouts", quote: "quotes" };

// address is the page of a record of a type; null when the console has none.
export const address = (type: string, id: string) => (folders[type] ? `/${folders[type]}/${id}` : null);

export function FeedLine({ event, partner }: { event: FeedEvent; partner?: boolean }) {
	const to = address(event.subject.type, event.subject.id);
	return (
		<li>
			<span>{to ? <Link href={to}>{eventName(event.type)}</Link> : eventName(event.type)}{partner && <span class="faint"> · {event.partner}</span>}</span>
			<time class="faint" dateTime={event.occurredAt}>{ago(event.occurredAt)}</time>
		</li>
	);
}

export function eventName(type: string): string {
	return t.codes[type] ?? type.charAt(0) + type.slice(1).toLowerCase().replaceAll("_", " ");
}
