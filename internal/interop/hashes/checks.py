"""Recomputes every hash of the API by the recipes that the manual prints."""
import datetime, json, os, pathlib, re, time, urllib.request

ready = json.loads(os.environ["PARAPET"])
manual = pathlib.Path("../../rest")


def block(page: str, language: str) -> str:
    return re.search(rf"```{language}\n(.*?)```", (manual / page).read_text(), re.S)[1]


recipe: dict = {}
for page in ("hashes.md", "events.md"):
    exec(block(page, "python"), recipe)


def call(path: str, body: dict | None = None, who: int = 0) -> bytes:
    token = ready["clients"][who]["token"]
    request = urllib.request.Request(
        ready["base_url"] + path,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    return urllib.request.urlopen(request).read()


def ask(path: str, body: dict | None = None) -> dict:
    return json.loads(call("/v1" + path, body))


checks = 0


def check(what: str, got, want) -> None:
    global checks
    assert got == want, f"{what}: {got} is not {want}"
    checks += 1


# The example that the manual prints.
example = json.loads(block("hashes.md", "json"))
printed = (manual / "hashes.md").read_text()
check("canonical JSON of the example", recipe["canonical"](example), block("hashes.md", "text").strip())
assert f"`{recipe['digest'](example)}`" in printed, "the manual prints another digest of its example"
assert f" {len(recipe['canonical'](example).encode())} bytes" in printed
hashed = json.loads(re.findall(r"```json\n(.*?)```", printed, re.S)[1])
assert f"whose digest is `{recipe['receipt_hash']({'hashed': hashed})}`" in printed, "the manual prints another receipt_hash of its example"


def cover(product: str, **context) -> dict:
    """A bound policy whose hash, and whose quote's, is what the recipe says."""
    quote = ask("/quotes", {"product": product, "context": {"partner": "acme", **context}})
    check("a quote's terms_hash", recipe["terms_hash"](quote), quote["terms_hash"])
    policy = ask("/policies", {"quote_id": quote["id"]})
    check("a policy's terms_hash", recipe["terms_hash"](policy), quote["terms_hash"])
    return policy


soon = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + 86400))
for starts_at in (soon + "Z", soon + ".5Z", soon + ".123456+02:00"):
    cover("quake-circle", starts_at=starts_at)
for latitude, longitude in ((23.98, 121.61), (-0.0000005, 120), (24, 121.000001), (23.123456789012345, -0.0)):
    try:
        cover("quake-circle", location={"latitude": latitude, "longitude": longitude})
    except urllib.error.HTTPError as refused:  # no price there is no fault of a hash
        assert json.load(refused)["code"] in ("risk_uninsurable", "validation_failed")
cover("cyclone-circle")


def claim_under(policy: dict) -> dict:
    for _ in range(100):
        if claims := ask(f"/policies/{policy['id']}")["claims"]:
            return ask(f"/claims/{claims[0]['id']}")
        time.sleep(0.1)
    raise AssertionError("no claim was opened")


def claim_of(policy: dict, name: str) -> dict:
    """The claim of an earthquake at the instant cover begins."""
    ask("/sandbox/observations", {
        "source": "usgs", "source_event_id": name, "kind": "earthquake", "stage": "final",
        "occurred_at": policy["effective_at"], "location": {"latitude": 24.17, "longitude": 121.65},
        "measures": {"magnitude": {"value": "6.4", "unit": "mw"}, "depth": {"value": "10.6", "unit": "km"}},
    })
    return claim_under(policy)


def claim_of_rain(policy: dict) -> dict:
    """The claim of a wet spell that ends by three dry days, some days after cover begins."""
    begins = datetime.date.fromisoformat(policy["effective_at"][:10])
    days = [begins + datetime.timedelta(9 + n) for n in range(8)]
    ask("/sandbox/observations", {"observations": [{
        "source": "ghcn", "source_event_id": f"rehearsal-{day}", "kind": "station_day", "stage": "final",
        "station": policy["cover"]["place"]["station"], "occurred_at": f"{day}T00:00:00Z",
        "measures": {"precipitation": {"value": mm, "unit": "mm"}},
    } for day, mm in zip(days, ("10", "45", "60", "40", "35", "0", "0", "0"))]})
    claim = claim_under(policy)
    first, last = (claim["determination"][member] for member in ("first_day", "last_day"))
    check("the first day of the index", first, str(days[0]))
    check("the last day of the index", last, str(days[4]))
    check("the moment of the determination", claim["determination"]["occurred_at"][:10], last)
    check("the time of the occurrence", claim["occurrence"]["occurred_at"], ask(f"/occurrences/{claim['occurrence']['id']}")["occurred_at"])
    return claim


policy = cover("quake-circle", location={"latitude": 23.98, "longitude": 121.61})
claim = claim_of(policy, "rehearsal-1")
check("a determination's terms_hash", claim["determination"]["terms_hash"], recipe["terms_hash"](policy))


def check_receipt(claim: dict, what: str) -> dict:
    determination = ask(f"/claims/{claim['id']}/receipt")["payload"]["parts"][-1]["determination"]
    check(what, recipe["receipt_hash"](determination), claim["determination"]["receipt_hash"])
    check(what + " covers", determination["hashed"]["determination"], {**claim["determination"], "receipt_hash": ""})
    return determination


determination = check_receipt(claim, "a receipt_hash")
determination["hashed"]["determination"]["factor"] = "1"
assert recipe["receipt_hash"](determination) != claim["determination"]["receipt_hash"], "a changed factor has the same hash"
checks += 1

# A policy that an operator cancelled before the earthquake of its first moment was known.
cancelled = cover("quake-circle", location={"latitude": 23.98, "longitude": 121.61})
operator = next(n for n, client in enumerate(ready["clients"]) if client["name"] == "operator")
mutation = "mutation($input: CancelPolicyInput!) { cancelPolicy(input: $input) { policy { id } } }"
answer = json.loads(call("/graphql", {"query": mutation, "variables": {"input": {"policyId": cancelled["id"], "reason": "The premium never came."}}}, operator))
assert "errors" not in answer, answer
claim = claim_of(cancelled, "rehearsal-2")
cancelled = ask(f"/policies/{cancelled['id']}")
check("the end of cover after a cancellation", check_receipt(claim, "a receipt_hash after a cancellation")["hashed"]["cover_to"], cancelled["cancelled_at"])

policy = cover("rain-excess")
claim = claim_of_rain(policy)
check_receipt(claim, "a receipt_hash of rain")

# The chain, from the first event on; each body as it came.
before, sequence = "0" * 64, 0
while page := ask(f"/events?after_sequence={sequence}&limit=100")["data"]:
    for event in page:
        before, sequence = recipe["link"](before, call(f"/v1/events/{event['id']}")), event["sequence"]
        check(f"the hash of event {sequence}", before, event["hash"])
assert sequence > 20, sequence
print(f"hashes: {checks} recomputed")
