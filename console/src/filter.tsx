// Filters of a list, kept in the address: codes and references only, never names of people.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/compat";
import { useLocation, useSearch } from "wouter";
import { chosenPartner } from "./store";
import { t } from "./texts";
import { Choice, Text } from "./ui";

// useFilter returns the filter, with the partner that an operator has chosen, the bar that edits it, and whether its address filters. Typed values apply after a short wait.
export function useFilter(names: string[], options: Record<string, string[]> = {}): [Record<string, any>, ComponentChildren, boolean] {
	const search = useSearch();
	const [location, go] = useLocation();
	const asked = useMemo(() => Object.fromEntries([...new URLSearchParams(search)].filter(([name, value]) => names.includes(name) && value !== "")), [search]);
	const chosen = chosenPartner.use(), fixed = names.includes("partner") && chosen !== "";
	const [typed, setTyped] = useState<Record<string, string>>(asked);
	useEffect(() => setTyped(asked), [search]);
	const apply = (next: Record<string, string>) => {
		const kept = new URLSearchParams(Object.entries(next).filter(([, value]) => value !== ""));
		go(location + (kept.size > 0 ? `?${kept}` : ""), { replace: true });
	};
	useEffect(() => {
		if (JSON.stringify(typed) === JSON.stringify(asked)) return;
		const timer = setTimeout(() => apply(typed), 350);
		return () => clearTimeout(timer);
	}, [typed]);
	const bar = (
		<div class="filters" role="search">
			{names.filter((name) => !(fixed && name === "partner")).map((name) => {
				const shared = { label: t.filters[name] ?? name, value: typed[name] ?? "" };
				return options[name]
					? <Choice key={name} {...shared} options={options[name]} onValue={(value) => { setTyped({ ...typed, [name]: value }); apply({ ...typed, [name]: value }); }} />
					: <Text key={name} {...shared} type="search" onValue={(value) => setTyped({ ...typed, [name]: value })} />;
			})}
		</div>
	);
	return [fixed ? { ...asked, partner: chosen } : asked, bar, Object.keys(asked).length > 0];
}
