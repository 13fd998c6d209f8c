// The form of an account to pay to. What is typed here is kept nowhere but in this form.
import { useState } from "preact/compat";
import { graphql, useChange } from "./api";
import { config } from "./config";
import { t } from "./texts";
import { Choice, Errors, fieldError, Modal, Text } from "./ui";

const recordMutation = graphql(`mutation RecordPayoutMethod($input: RecordPayoutMethodInput!) { recordPayoutMethod(input: $input) { payoutMethod { id status } } }`);

export function AccountForm({ claimId, currency, primary }: { claimId: string; currency: string; primary?: boolean }) {
	const [open, setOpen] = useState(false);
	return <><button class={primary ? "primary" : ""} onClick={() => setOpen(true)}>{t.account.add}</button>{open && <Form {...{ claimId, currency }} onClose={() => setOpen(false)} />}</>;
}

function Form({ claimId, currency, onClose }: { claimId: string; currency: string; onClose: () => void }) {
	const change = useChange(recordMutation);
	const [v, setV] = useState<Record<string, string>>({ type: currency === "USD" ? "US_BANK_ACCOUNT" : currency === "KES" ? "MOBILE_MONEY" : "IBAN", name: "", country: "", accountType: "CHECKING" });
	const field = (name: string, label: string, pointer: string, more: { hint?: string; required?: boolean; maxLength?: number } = {}) => (
		<Text key={name} label={label} value={v[name] ?? ""} onValue={(value) => setV({ ...v, [name]: value })} error={fieldError(change.problem, pointer)} autoComplete="off" {...more} />
	);
	const submit = async (event: Event) => {
		event.preventDefault();
		const input = {
			claimId, currency, type: v.type as "IBAN", beneficiary: { name: v.name, country: v.country.toUpperCase() },
			...(v.type === "IBAN" ? { iban: { iban: v.iban ?? "", ...(v.bic ? { bic: v.bic } : {}) } } : {}),
			...(v.type === "US_BANK_ACCOUNT" ? { usBankAccount: { routingNumber: v.routing ?? "", accountNumber: v.number ?? "", accountType: v.accountType as "CHECKING" } } : {}),
			...(v.type === "MOBILE_MONEY" ? { mobileMoney: { msisdn: v.msisdn ?? "", provider: v.provider ?? "" } } : {}),
		};
		if (await change.run(input)) onClose();
	};
	return (
		<Modal title={t.account.add} onClose={onClose}>
			<form onSubmit={submit} autoComplete="off">
				<p class="lead">{t.account.lead(currency)}</p>
				<div class="pair">{field("name", t.account.name, "beneficiary/name", { required: true })}{field("country", t.account.country, "beneficiary/country", { required: true, maxLength: 2, hint: t.account.countryHint })}</div>
				<Choice label={t.account.type} value={v.type} onValue={(type) => setV({ ...v, type })} options={["IBAN", "US_BANK_ACCOUNT", "MOBILE_MONEY"]} error={fieldError(change.problem, "type")} />
				{v.type === "IBAN" && <div class="pair">{field("iban", "IBAN", "iban/iban", { required: true })}{field("bic", t.account.bic, "iban/bic")}</div>}
				{v.type === "US_BANK_ACCOUNT" && <><div class="pair">{field("routing", t.account.routing, "usBankAccount/routingNumber", { required: true })}{field("number", t.account.number, "usBankAccount/accountNumber", { required: true })}</div><Choice label={t.account.kind} value={v.accountType} onValue={(accountType) => setV({ ...v, accountType })} options={["CHECKING", "SAVINGS"]} /></>}
				{v.type === "MOBILE_MONEY" && <div class="pair">{field("msisdn", t.account.msisdn, "mobileMoney/msisdn", { required: true, hint: t.account.msisdnHint })}{field("provider", t.account.provider, "mobileMoney/provider", { required: true })}</div>}
				{config.rehearsal && <p class="faint">{t.account.rehearsal}</p>}
				<Errors problem={change.problem} shown={["/input/beneficiary", "/input/iban", "/input/usBankAccount", "/input/mobileMoney"]} />
				<div class="actions end"><button type="button" class="quiet" onClick={onClose}>{t.cancel}</button><button class="primary" disabled={change.busy}>{t.account.save}</button></div>
			</form>
		</Modal>
	);
}
