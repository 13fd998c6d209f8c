// Finds the operations on a page of the REST reference: title, first scope, status and the
// commands.
const unescape = (html) => html.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&#34;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&");

export function parse(html) {
	return html.split('<section class="endpoint">').slice(1).map((section) => ({
		title: unescape(section.match(/<h2 [^>]*><a [^>]*>([^<]*)</)[1]),
		scope: section.match(/Scope <code>([^<]*)</)?.[1],
		status: section.match(/Answer <code>(\d+)</)[1],
		samples: [...section.matchAll(/<pre tabindex="0" data-lang="sh"><code>([^<]*)</g)].map((match) => unescape(match[1])),
	}));
}
