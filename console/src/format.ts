import { keptStore } from "./store";
import { t } from "./texts";

export interface Amount { amount: number; currency: string }
export interface Measured { value: string; unit: string }

const language = "en-GB";
const cache = new Map<string, Intl.NumberFormat>();

function currencyFormat(currency: string, digits?: number): Intl.NumberFormat {
	const key = `${currency}/${digits}`;
	let format = cache.get(key);
	if (!format) {
		format = new Intl.NumberFormat(language, { style: "currency", currency, currencyDisplay: "code", ...(digits === undefined ? {} : { minimumFractionDigits: digits, maximumFractionDigits: digits }) });
		cache.set(key, format);
	}
	return format;
}

// minorDigits is how many digits of a currency follow its decimal point.
export function minorDigits(currency: string): number {
	try {
		return currencyFormat(currency).resolvedOptions().maximumFractionDigits ?? 2;
	} catch {
		return 2;
	}
}

export function money(m: Amount | null | undefined): string {
	if (!m) return "–";
	const digits = minorDigits(m.currency);
	return currencyFormat(m.currency, m.amount % 10 ** digits === 0 ? 0 : digits).format(m.amount / 10 ** digits);
}

export function majorText(m: Amount): string {
	const digits = minorDigits(m.currency);
	return (m.amount / 10 ** digits).toFixed(m.amount % 10 ** digits === 0 ? 0 : digits);
}

// toMinor reads an amount as typed; NaN when it is none or has too many digits.
export function toMinor(text: string, currency: string): number {
	const clean = text.replaceAll(/[\s,_']/g, "");
	const digits = minorDigits(currency);
	if (!new RegExp(`^\\d+(\\.\\d{0,${digits}})?$`).test(clean)) return NaN;
	const [whole, part = ""] = clean.split(".");
	return Number(whole + part.padEnd(digits, "0"));
}

export const zone = keptStore<"local" | "utc">("parapet.zone", "local");

const dateTime = { dateStyle: "medium", timeStyle: "short" } as const;
const exactTime = { dateStyle: "medium", timeStyle: "medium" } as const;
const formats = {
	local: [new Intl.DateTimeFormat(language, dateTime), new Intl.DateTimeFormat(language, exactTime)],
	utc: [new Intl.DateTimeFormat(language, { ...dateTime, timeZone: "UTC" }), new Intl.DateTimeFormat(language, { ...exactTime, timeZone: "UTC" })],
};

export function when(at: string, where: "local" | "utc" = zone.get(), exact = false): string {
	const parsed = new Date(at);
	if (Number.isNaN(parsed.getTime())) return at;
	return formats[where][exact ? 1 : 0].format(parsed) + (where === "utc" ? " UTC" : "");
}

const shortDay = new Intl.DateTimeFormat(language, { day: "numeric", month: "short", timeZone: "UTC" });
export const dayMonth = (at: string | number) => shortDay.format(new Date(at));
export const compact = (n: number) => new Intl.NumberFormat(language, { notation: "compact" }).format(n);

export const day = (at: string) => new Intl.DateTimeFormat(language, { dateStyle: "medium", timeZone: "UTC" }).format(new Date(at));

const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" });

export function ago(at: string): string {
	const seconds = (new Date(at).getTime() - Date.now()) / 1000;
	for (const [unit, size] of [["day", 86400], ["hour", 3600], ["minute", 60]] as const) {
		if (Math.abs(seconds) >= size) return relative.format(Math.round(seconds / size), unit);
	}
	return relative.format(Math.round(seconds), "second");
}

// splitList reads the parts of a list as typed.
export const splitList = (text: string, by = ",") => text.split(by).map((part) => part.trim()).filter(Boolean);

export const number = (n: number) => new Intl.NumberFormat(language).format(n);
export const percent = (share: string | number | null | undefined, digits = 1) => share === null || share === undefined ? "–"
	: new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: digits }).format(Number(share));
export const measure = (m: Measured | null | undefined) => (m ? `${Number(m.value)} ${t.units[m.unit] ?? m.unit}` : "–");

export function duration(iso: string): string {
	const found = /^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?$/.exec(iso);
	if (!found) return iso;
	const parts = found.slice(1).map((n, i) => n && Number(n) !== 0 ? `${n} ${t.durations[i]}${Number(n) === 1 ? "" : "s"}` : "").filter(Boolean);
	return parts.join(" ") || t.durations[7];
}

// age writes seconds in their largest unit.
export function age(seconds: number): string {
	for (const [size, unit] of [[86400, "D"], [3600, "H"], [60, "M"]] as const) if (seconds >= 2 * size) return duration(`P${unit === "D" ? "" : "T"}${Math.floor(seconds / size)}${unit}`);
	return duration(`PT${Math.round(seconds)}S`);
}

// human writes a code of the API as words.
export function human(code: string | null | undefined): string {
	if (!code) return "–";
	if (t.codes[code]) return t.codes[code];
	const words = code.toLowerCase().replaceAll(/[_.]/g, " ");
	return words.charAt(0).toUpperCase() + words.slice(1);
}

export function place(p: { kind: string; latitude?: number | null; longitude?: number | null; radiusKm?: number | null; west?: number | null; south?: number | null; east?: number | null; north?: number | null; station?: string | null } | null | undefined): string {
	if (!p) return "–";
	if (p.kind === "STATION") return t.place.station(p.station ?? "");
	if (p.kind === "BOX") return t.place.box(point(p.south!, p.west!), point(p.north!, p.east!));
	return t.place.circle(p.radiusKm ?? 0, point(p.latitude!, p.longitude!));
}

export function point(latitude: number, longitude: number): string {
	const part = (n: number, plus: string, minus: string) => `${Math.abs(n).toFixed(2)}° ${n < 0 ? minus : plus}`;
	return `${part(latitude, "N", "S")} ${part(longitude, "E", "W")}`;
}
