import { eventName } from "./lines";
import { t } from "./texts";
import { Empty, When } from "./ui";

interface Entry { id: string; kind: string; at: string; summary: string; actor: { kind: string; name: string } }

// Timeline shows entries, the newest first.
export function Timeline({ nodes }: { nodes: readonly Entry[] }) {
	if (nodes.length === 0) return <Empty>{t.nothing}</Empty>;
	return (
		<ol class="timeline">
			{[...nodes].reverse().map((entry) => (
				<li key={entry.id}><p>{entry.summary || eventName(entry.kind)}</p><When at={entry.at} /><span class="faint">{entry.actor.name || t.system}</span></li>
			))}
		</ol>
	);
}
