import { useSyncExternalStore } from "preact/compat";

// Store is a value that components read with use and that changes with set.
export interface Store<T> {
	get(): T;
	set(value: T): void;
	use(): T;
}

export function store<T>(value: T): Store<T> {
	const readers = new Set<() => void>();
	const get = () => value;
	const subscribe = (reader: () => void) => {
		readers.add(reader);
		return () => void readers.delete(reader);
	};
	return {
		get,
		set(next) {
			if (Object.is(next, value)) return;
			value = next;
			for (const reader of readers) reader();
		},
		use: () => useSyncExternalStore(subscribe, get),
	};
}

// chosenPartner is the partner that an operator looks at; empty: all partners.
export const chosenPartner = store("");

// A store whose value outlives a reload in this browser; never for tokens or accounts.
export function keptStore<T extends string>(name: string, value: T): Store<T> {
	const inner = store((localStorage.getItem(name) as T | null) ?? value);
	return { ...inner, set(next) { localStorage.setItem(name, next); inner.set(next); } };
}
