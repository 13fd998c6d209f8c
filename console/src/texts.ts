// Every text of the console. Another language is another file of this shape.
export const t = {
	all: "All", cancel: "Cancel", close: "Close", copy: "Copy", copied: "Copied", loading: "Loading…", working: "Working…", tryAgain: "Try again", nothing: "Nothing here yet.", pages: "Pages", newer: "Newer", older: "Older",
	page: (n: number) => `Page ${n}`, menu: "Menu", skip: "Skip to the content", signOut: "Sign out", rehearsal: "Rehearsal", requestId: "Request", reason: "Reason", none: "None", yes: "Yes", no: "No", search: "Find", open: "Open", save: "Save", more: "More",
	forPartner: (partner: string) => `for ${partner}`, localTime: "Local time", zoneHint: "Show times in local time or UTC; point at a time to see the other", themes: { auto: "Theme: system", light: "Theme: light", dark: "Theme: dark" } as Record<string, string>,
	signIn: {
		title: "Parapet console", lead: "Parametric cover from the first quote to the reconciled payout.", partner: "Sign in", operator: "Sign in as an operator",
		at: (host: string) => `You sign in at ${host}. Your password is never seen here.`, notAsked: "That sign-in was not asked for here. Sign in again.",
	},
	session: { lost: "Your session has ended.", kept: "Quotes that you are filling in are kept.", again: "Sign in again" },
	offline: { title: "No connection to the server.", lead: "Trying again every few seconds; what you typed stays here.", change: "The server could not be reached. Nothing is lost: send it again, it is done once only." },
	notFound: { title: "There is no such page", lead: "The address is wrong, or the page is for someone else." },
	nav: {
		cover: "Cover", money: "Claims and money", build: "Build", records: "Records", book: "Book", setUp: "Set up", watch: "Watch",
		pages: {
			home: "Home", map: "Map", "what-if": "What if", quotes: "Quotes", policies: "Policies", claims: "Claims", payouts: "Payouts", statement: "Statement", developers: "Developers", inbox: "Inbox", events: "Event desk", "release-stop": "Release stop",
			book: "Portfolio", partners: "Partners", products: "Products", sources: "Sources", capacity: "Capacity and moratoria", audit: "Audit log", jobs: "Jobs",
		} as Record<string, string>,
	},
	units: { kn: "kn", mb: "mb", magnitude: "Mw", mm: "mm", days: "days", km: "km" } as Record<string, string>,
	durations: ["year", "month", "week", "day", "hour", "minute", "second", "none"],
	place: {
		station: (id: string) => `Station ${id}`, box: (southWest: string, northEast: string) => `Box from ${southWest} to ${northEast}`, circle: (km: number, at: string) => `${km} km around ${at}`,
	},
	codes: {
		IN_FORCE: "In force", CIRCLE: "Circle", BOX: "Box", STATION: "Station", STORM_FIX: "Storm", STATION_DAY: "Station", EXPECTED_LOSS: "Expected loss", UNCERTAINTY_LOAD: "Uncertainty", RISK_LOAD: "Risk", EXPENSE: "Expenses", COMMISSION: "Commission",
		MINIMUM_PREMIUM: "To the minimum premium", PAYOUT_METHOD_MISSING: "No account yet", PAYOUT_METHOD_UNVERIFIED: "Account not verified", APPROVAL_REQUIRED: "Needs approval", RAIL_REJECTED: "Refused by the bank", RAIL_MISMATCH: "Bank and order differ",
		US_BANK_ACCOUNT: "US bank account", IBAN: "IBAN", MOBILE_MONEY: "Mobile money", sustained_wind: "Sustained wind", central_pressure: "Central pressure",
	} as Record<string, string>,
	home: {
		title: "Home", lead: "Your book, your claims and your payouts, as they are now.", operatorLead: "All partners' books, claims and payouts, as they are now.", empty: "No policy is in force yet.", first: "Price the first cover", lossRatio: "Loss ratio", inForce: "Policies in force",
		atRisk: "Limit at risk", premium: "Premium in force", open: "Open claims", reserved: (m: string) => `${m} reserved`, paid: "Paid, 30 days", blocked: "Payouts blocked", doubt: (n: number, m: string, age: string) => `${n} ${n === 1 ? "payout" : "payouts"}, ${m}, older than ${age}`,
		byProduct: "By product", byPartner: "By partner and product", feed: "Happening now", live: "Live", feedEmpty: "Listening. New events appear here the moment they are committed.", allEvents: "All events", states: "Claims and payouts by state", noClaims: "No claims yet: a good month.",
		count: "Count", claimsOpened: "Claims opened", released: "Paid out", chart: "Claims opened and money paid out by day, the last 30 days", asOf: (partner: string) => `Figures of ${partner}; sums per currency, never added across currencies. Money figures cover the last 30 days.`,
	},
	system: "Parapet", timeline: "Timeline",
	filters: { status: "Status", product: "Product", partnerReference: "Your reference", partner: "Partner", outcome: "Outcome", operation: "Operation", subject: "Record", state: "State", kind: "Kind", queue: "Queue" } as Record<string, string>,
	quotes: {
		new: "New quote", lead: "Prices that were asked for, and what became of them.", empty: "No quotes match.", newLead: "Choose a product and a place. The price comes with its parts and with every past event that would have paid.", noProducts: "No product is published yet.",
		latitude: "Latitude", longitude: "Longitude", shape: "Shape of the place", mapLabel: "Map of the insured place", sides: { west: "West", south: "South", east: "East", north: "North" }, choose: "Choose…", range: (from: number, to: number) => `From ${from} to ${to}.`, addRow: "Add a step", removeRow: "Remove",
		badAmount: (digits: number) => `Write a number with at most ${digits} decimals.`, bounds: (least: string, most: string) => `From ${least} to ${most}.`, referenceHint: "Your own name for it, such as a contract number; not a person's name.", price: "Price it", priceAgain: "Price this variant", clear: "Start over",
		resultTitle: "Price", resultLead: "Nothing is bound until you say so. Price a second variant to see both side by side.", variantNow: "This variant", variantBefore: "The variant before", rate: (p: string) => `${p} of the limit`, returns: "Pays about once in", years: (n: number) => `${n} ${n === 1 ? "year" : "years"}`, moratorium: "No cover here at the moment.",
		past: (n: number, from: number, to: number) => `${n} past ${n === 1 ? "event" : "events"} would have paid, ${from}–${to}`, pastTitle: "Past events that would have paid", noPast: (from: number, to: number) => `Between ${from} and ${to} no event would have paid.`, pastChart: (text: string) => `Share of the limit by year: ${text}`, wouldPay: "Would pay",
		waterfall: "Parts of the price", bind: (premium: string) => `Bind for ${premium}`, until: "The price holds until", toPolicy: "See the policy", title: (name: string) => `Quote ${name}`, basis: "How it was priced", dataset: "Price data", observed: "Years observed", inPlace: "Events at the place", paying: "Events that would pay", chance: "Chance of a payout in a year", deviation: "Standard deviation",
	},
	policies: {
		lead: "Covers in force and covers that have ended.", empty: "No policies match.", title: (name: string) => `Policy ${name}`, terms: "Terms in words", details: "Details", noClaims: "No claim has been made. Claims open by themselves when a source measures an event.", noAccount: "No account yet", reporting: "Reporting window", termsHash: "SHA-256 of the terms",
		report: "Report a loss yourself", reportLead: (currency: string) => `Measured events open claims by themselves. Use this for an event that is missing, or for damage that an operator has to look at. Amounts are in ${currency}.`, reportOther: "Something that an operator decides", reportEvent: "An event that a source has published", eventId: "Id of the event", happened: "When it happened", reportSend: "Open the claim",
	},
	claims: {
		lead: "Opened by measured events, or by you.", empty: "No claims match.", title: (name: string) => `Claim ${name}`, needed: (m: string) => `needed ${m}`, accountNeeded: "The money has nowhere to go yet.", accountLead: "Record an account below; the payout leaves once the bank has verified it.", decision: "Decision", noPayouts: "No payout yet.", accounts: "Accounts", noAccounts: "No account has been recorded.",
		messages: "Messages", noMessages: "No messages. What you write here is read by an operator, with the claim in front of them.", write: "Message", send: "Send", evidence: "Documents", noEvidence: "No documents.", addEvidence: "Add a document", evidenceHint: "PDF, pictures or text, up to 10 MiB.", size: "Size", requested: "Requested", stage: "Readings", revision: (v: string) => `revision ${v}`, receiptHash: "SHA-256 of the receipt",
		undecided: "Not decided yet.", review: "Next review", receipt: "Receipt", actions: "What operators did", noActions: "Nothing yet.", withdraw: "Withdraw", decide: "Decide", decideLead: "The partner sees the outcome, the reason and your message. The note stays with us.", amountIn: (c: string) => `Amount in ${c}`, amountHint: (digits: number) => `Only for an approval that no trigger has measured; at most ${digits} decimals.`, reviewAt: "Review at", reviewHint: "Only when you defer.",
		messageToPartner: "Message to the partner", noteForUs: "Note for operators", badAmount: "The amount is not a number of this currency.",
	},
	account: {
		add: "Record an account", lead: (c: string) => `The account of whoever is paid, in ${c}. It is encrypted, shown by its last digits only, and not kept in this browser.`, name: "Name of the holder", country: "Country", countryHint: "Two letters, such as TW", type: "Kind of account", bic: "BIC (if needed)", routing: "Routing number", number: "Account number", kind: "Checking or savings",
		msisdn: "Mobile number", msisdnHint: "With country code, such as +254…", provider: "Provider", save: "Record", rehearsal: "This server rehearses: use test accounts only, such as GB33BUKB20201555555555 or routing number 021000021.",
	},
	payouts: {
		lead: "Money on its way, and money that arrived.", empty: "No payouts match.", title: (m: string) => `Payout of ${m}`, way: "The way of the money", created: "Created for the approved claim", released: (rail: string) => `Accepted by ${rail}`, confirmed: "Confirmed by the bank's own report", now: (what: string) => `Now: ${what}`, reconciled: "Reconciled", rail: "Rail", reference: "Reference at the bank", replaces: "Replaces", fingerprint: "Fingerprint",
		act: "Act on it", hold: "Hold", holdLead: "Nothing is sent until someone takes the hold away.", unhold: "Take the hold away", release: "Release now", releaseLead: "Sends it as soon as nothing else blocks it.", resolve: "Resolve", resolveLead: "Say what really happened at the bank. Look at the bank's own records first: this decides whether money is sent again.", wasPaid: "It was paid", wasNotPaid: "It was not paid; try again after the block", neverPay: "Never pay it",
		settled: "The bank's statement shows it settled", settle: "Settle outside", settleLead: "The money was paid by other means. Nothing is sent by us.", approval: "Approval", noApproval: "This payout needs no approval.", approvals: (n: number, of: number) => `${n} of ${of} given`, recorded: "Account recorded", cooling: "Cooling off until", returned: "Came back", nobodyYet: "Nobody has approved yet.", valid: "Counts", outdated: "No: the account or the amount has changed since",
		youApproved: "You have approved this. Another operator has to see it too.", approve: "Approve", approveLead: "You approve this amount to this account. A change of either takes your approval away.", again: "Prove who I am again",
	},
	statement: { lead: "Double-entry: each account's balance, and every entry with the event behind it.", csv: "Save as CSV", notIncluded: "This day is not included.", balances: "Balances", empty: "No entries in this time.", entries: "Entries", opening: "Opening", debits: "Debits", credits: "Credits", closing: "Closing" },
	curve: { label: (text: string) => `Share of the limit that is paid: ${text}`, rings: (shares: string[]) => `One line for each ring: ${shares.join(" and ")} of the radius.` },
	terms: {
		first: (index: string, below: boolean, from: string, where: string) => `Pays when the ${index} ${below ? "falls to" : "reaches"} ${from}${below ? " or less" : ""} within this place: ${where}.`, pays: (most: string, share: string) => `At most ${most} (${share} of the limit) for one event.`, waiting: (d: string) => `Waiting period: ${d}.`, depth: (km: number) => `Depth at most ${km} km.`, decides: (stage: string) => `Decided on ${stage} values.`, sources: (names: string) => `Measured by ${names}.`,
	},
	explain: { none: "No cover is touched.", result: "Result", pays: "Pays", met: "Met, pays nothing", misses: (by: string) => `Missed by ${by}` },
	map: {
		lead: (n: string, done: boolean) => `${n} ${done ? "active covers" : "covers so far…"} and the latest events. Choose one to see its terms or whom it touched.`, keys: "Arrow keys move, plus and minus zoom.", closer: "Zoom in", farther: "Zoom out", everything: "Show everything", label: "Map of covers and events", events: "Events", recent: "Latest events", noEvents: "No events have been observed yet.", stations: "Covers at stations", nearMisses: "Show near misses too",
		touched: "Covers that it touches", more: "There are more covers; the list shows the first fifty.", history: "As if", wouldHavePaid: (n: number, from: number) => `${n} ${n === 1 ? "event" : "events"} since ${from} would have paid`,
	},
	whatIf: {
		lead: "Place an event on the map, or drag it. The sums are computed for your covers as they are now; nothing is recorded.", quake: "Earthquake", storm: "Storm", rain: "Rain", temperature: "Temperature", map: "Map of the imagined event", covers: "Your covers", track: "Track", epicentre: "Epicentre", depth: "Depth (km)", magnitude: "Magnitude", wind: "Wind (kn)", pressure: "Pressure (hPa)", fixes: (n: number) => `${n} fixes, six hours apart. Click to add one, drag to move it.`, undo: "Remove the last", restart: "Start a new track",
		noStations: "You have no covers at stations of this peril.", days: "Days", rainADay: "Rain a day (mm)", warmest: "Warmest of the day (°C)", allPartners: "Empty: all partners.", nothing: "No cover is touched or nearly touched.", paying: "Covers that pay", touched: (n: number, near: number) => `${n} touched, ${near} near misses`, beforeLimits: (m: string) => `${m} before limits that are used up`, bands: "By share of the limit", noneReached: "No share is reached.", band: (from: string, to: string) => (from === to ? from : `${from} – ${to}`), sumsOnly: "With this many covers only sums are computed.", lines: "Cover by cover",
	},
	developers: {
		lead: "Every change as an event, and where it is sent.", events: "Events", endpoints: "Endpoints", types: "Event types", access: "Your access", client: "Client", scopes: "Scopes", manual: "Manual", prove: "Check the chain", type: "Type", subject: "Record", noEvents: "No events match.", sequence: "Sequence", hash: "Hash", generation: "generation", intact: (n: string) => `The chain of ${n} events is intact.`, broken: "The chain is broken.", last: "Last sequence", checkpoints: "Signed checkpoints", redacted: "Redacted events",
		secretTitle: "Secret of the endpoint", secretLead: "It signs every delivery. Store it now: it is not shown again.", secretGone: "The secret was shown before and is not shown again. Rotate it for a new one.", stored: "I have stored it", add: "Add an endpoint", url: "Address", urlHint: "A public https address.", ordered: "Send each record's events in order", noEndpoints: "No endpoint yet. Events stay in the feed for as long as you like.", endpoint: "Endpoint",
		test: "Send a test", enable: "Enable", disable: "Disable", rotate: "Rotate the secret", rotateLead: "For 24 hours deliveries carry both signatures.", remove: "Delete", removeLead: "Nothing more is sent there. Events stay in the feed.", deliveries: "Deliveries of the last 30 days", resendAll: "Send all failed again", noDeliveries: "Nothing was sent yet.", next: "Next attempt", resend: "Send again",
	},
	inbox: {
		lead: "What waits for a person, the most urgent first.", stops: "Releases stopped", approvals: "To approve", decide: "Claims to decide", deferred: "Deferred claims", doubt: "Payouts in doubt", exceptions: "Reconciliation", invariants: "Violated invariants", endpoints: "Failing endpoints", sources: "Stale sources", jobs: "Failing jobs", action: "Action", review: "Review", age: "Age", closeIt: "Close", outage: "outage", old: (d: string) => `last reading ${d} ago`, never: "no reading yet", waiting: (n: number) => `${n} ${n === 1 ? "policy waits" : "policies wait"}`,
		clear: "Nothing waits for you. Everything else is running by itself.", calm: (names: string) => `Nothing waits in: ${names}.`,
	},
	desk: { lead: "Events as they are measured, matched, decided and paid, over all partners.", map: "Map of events", running: "Being worked on", settled: "Settled", progress: "Progress", decided: (n: string, of: string, claims: string) => `${n} of ${of} covers decided, ${claims} claims opened`, owed: "Money owed by partner", noMoney: "No cover of anyone is touched.", covers: "Decided", pending: "Pending", blocked: "Blocked", released: "Paid", readings: "Readings", definition: "Definition" },
	capacity: {
		lead: "Where no more cover is sold: for a while, or beyond a sum.", set: "Set a capacity", setLead: "It applies from the next bind on.", cell: "Cell", cellHint: "South-west corner such as N23E121, or a station. Empty: each cell without one of its own.", amountHint: "Empty removes the capacity; 0 stops sales.", declare: "Declare a moratorium", declareLead: "No cover that starts before its end is sold there.", every: "Every peril", everywhere: "Empty: everywhere.", radius: "Radius (km)", needsEnd: "Say when it ends.", map: "Map of moratoria", moratoria: "Moratoria", mapHint: "Click the map to place the centre of a new moratorium.",
		past: "Past ones too", none: "No moratorium is in force.", world: "Everywhere", lift: "Lift", capacities: "Capacities", noCapacity: "No capacity is set: sales are not limited by place.", eachCell: "Each cell", used: "Used", rules: "Automatic rules", from: "From", lasts: "Lasts",
	},
	stop: {
		lead: "One switch for all money. It stops what has not left; nothing is lost.", stopped: "Stopped", flowing: "Flowing", since: (who: string, why: string) => `Stopped by ${who}: ${why}`, flowingLead: "Payouts are released as they become due.", resuming: (done: number, total: number) => `Checking before resuming: ${done} of ${total}.`, resume: "Resume releases", resumeLead: "Every invariant is checked over the whole database first.", acknowledge: "I know of the violations and resume despite them", stop: "Stop all releases", stopLead: "No payout leaves until releases are resumed. You learn which orders are leaving at this moment.",
		invariants: "Invariants", allHold: "All hold.", violations: "Violations", checked: "Checked", history: "Earlier stops", never: "Releases were never stopped.", stoppedAt: "Stopped", resumedAt: "Resumed", why: "Why resumed",
	},
	partners: { lead: "Who sells cover through this server.", register: "Register a partner", slug: "Slug", slugHint: "As in the token's partner claim; it never changes.", disableLead: (name: string) => `${name} can read nothing and write nothing until enabled again. Claims and payouts that are owed go on.` },
	products: { lead: "What can be sold, by published document.", publish: "Publish a product", key: "Key", curve: "Payout curve", examples: "Worked examples", currencies: "Currencies", least: "Least limit", usual: "Usual limit", most: "Most", automatic: "Paid without approval up to", schema: "JSON Schema of the context", validity: "A quote holds", maximumRate: "Highest rate on line", rule: "Rule", publishLead: "Paste the document or choose a file. Its worked examples run before it is published; errors name the place in the document.", published: "Published:", file: "File", document: "Document" },
	sources: { lead: "Who measures, when they last did, and which policies wait for them.", register: "Register a source", edit: "Change", registerLead: "Only the subjects named here may post its readings.", subjects: "Token subjects", subjectsHint: "Separated by commas.", last: "Last reading", waiting: "Policies waiting" },
	audit: { lead: "Every action of an operator and every refusal. No role can change or delete a line.", subject: "Record" },
	jobs: { lead: "The queue behind the service. Nothing here loses or repeats a payment.", failing: "Failing kinds", noFailing: "No kind of job fails.", kind: "Kind", error: "Last error", counts: "In the queue", idle: "The queue is empty.", overdue: "Overdue", queue: "Queue", due: "Due", retry: "Retry", retryKind: (kind: string) => `All failing jobs of the kind ${kind} run again now.`, cancelIt: "Cancel the job" },
	fields: {
		id: "Id", status: "Status", policy: "Policy", policies: "Policies", claim: "Claim", claims: "Claims", payout: "Payout", payouts: "Payouts", quote: "Quote", product: "Product", products: "Products", partner: "Partner", reference: "Your reference", place: "Place", limit: "Limit",
		remaining: "Left of the limit", premium: "Premium", amount: "Amount", from: "From", to: "To", created: "Created", updated: "Changed", opened: "Opened", closed: "Closed", at: "Time", who: "Who", what: "What", peril: "Peril", source: "Source", event: "Event",
		currency: "Currency", term: "Term", waiting: "Waiting period", trigger: "Trigger", holder: "Policyholder", version: "Version", starts: "Starts", ends: "Ends", name: "Name", email: "Email", country: "Country", note: "Note", outcome: "Outcome", reasons: "Reasons",
		message: "Message", description: "Description", account: "Account", bank: "Bank", attempts: "Attempts", distance: "Distance", index: "Measured", threshold: "Needed", missed: "Missed by", owed: "Owed", payable: "Payable", share: "Share of the limit", expires: "Expires",
	},
};
