# The samples of the documentation in Python: the tasks in order, as one program. It needs
# the standard library only.
# docs: authenticate
import base64, json, os, time, urllib.error, urllib.parse, urllib.request

BASE = os.environ["BASE"]

def fetch(url, data=None, headers={}, method=None):
    request = urllib.request.Request(url, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read() or "null")

def get_token():
    resource = fetch(BASE + "/.well-known/oauth-protected-resource")
    server = resource["authorization_servers"][0]
    issuer = fetch(server + "/.well-known/openid-configuration")
    client = os.environ["CLIENT_ID"] + ":" + os.environ["CLIENT_SECRET"]
    form = urllib.parse.urlencode({"grant_type": "client_credentials"}).encode()
    basic = "Basic " + base64.b64encode(client.encode()).decode()
    return fetch(issuer["token_endpoint"], form, {"Authorization": basic})["access_token"]

TOKEN = get_token()

def call(method, path, body=None, headers={}):
    data = None if body is None else json.dumps(body).encode()
    return fetch(BASE + "/v1" + path, data, method=method, headers={
        "Authorization": "Bearer " + TOKEN, "Content-Type": "application/json", **headers})

print([product["key"] for product in call("GET", "/products")["data"]])
# docs: end

# docs: quote
quote = call("POST", "/quotes", {
    "product": "quake-circle",
    "context": {
        "partner": "acme",
        "location": {"latitude": 23.98, "longitude": 121.61},
        "limit": {"amount": 100_000_00, "currency": "USD"},
        "term": "P365D",
    },
})
print(quote["id"], quote["expires_at"], quote["price"]["premium"])
print(len(quote["history"]), "past events would have paid")
# docs: end

# docs: bind
policy = call("POST", "/policies", {
    "quote_id": quote["id"],
    "policyholder": {"name": "Lin Mei-hua", "country": "TW"},
}, {"Idempotency-Key": "bind-" + quote["id"]})
# docs: end
again = call("POST", "/policies", {
    "quote_id": quote["id"], "policyholder": {"name": "Lin Mei-hua", "country": "TW"},
}, {"Idempotency-Key": "bind-" + quote["id"]})
assert again["id"] == policy["id"]

# docs: payout-method
method = call("POST", "/payout_methods", {
    "policy_id": policy["id"],
    "type": "iban",
    "currency": "USD",
    "iban": {"iban": "DE89370400440532013000"},
    "beneficiary": {"name": "Lin Mei-hua", "country": "TW"},
})
print(method["status"], method["display"])
# docs: end

# docs: rehearse
call("POST", "/sandbox/observations", {
    "source": "usgs",
    "kind": "earthquake",
    "stage": "final",
    "source_event_id": "rehearsal-" + policy["id"],
    "occurred_at": policy["effective_at"],
    "location": {"latitude": 24.17, "longitude": 121.65},
    "measures": {
        "magnitude": {"value": "6.4", "unit": "mw"},
        "depth": {"value": "10.6", "unit": "km"},
    },
})
# docs: end

# docs: claim
while not (claims := call("GET", "/policies/" + policy["id"])["claims"]):
    time.sleep(1)
claim = call("GET", "/claims/" + claims[0]["id"])
print(claim["status"], claim["amount"], claim["determination"]["index"])
for entry in call("GET", f"/claims/{claim['id']}/timeline")["data"]:
    print(entry["at"], entry["summary"])
# docs: end

# docs: payout
def find_payout():
    return call("GET", f"/claims/{claim['id']}/payouts")["data"][0]

while (payout := find_payout())["status"] not in ("released", "reconciled"):
    time.sleep(1)
print(payout["status"], payout["amount"], payout["provider_reference"])
# docs: end

# docs: events
after = 0  # store it: it is all that a reader must remember
while events := call("GET", f"/events?after_sequence={after}&limit=100")["data"]:
    for event in events:
        print(event["sequence"], event["type"], event["subject"]["id"])
    after = events[-1]["sequence"]
# docs: end
assert after > 5

# docs: webhooks
import hashlib, hmac, http.server

def is_genuine(secret, headers, body):
    sent = headers["webhook-timestamp"]
    if abs(time.time() - int(sent)) > 300:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{sent}.".encode() + body
    mine = "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    given = headers["webhook-signature"].split()
    return any(hmac.compare_digest(mine, one) for one in given)

class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        genuine = is_genuine(endpoint["secret"], self.headers, body)
        self.send_response(204 if genuine else 400)
        self.end_headers()
        received.append(json.loads(body)["type"] if genuine else "refused")

received = []

server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
endpoint = call("POST", "/webhook_endpoints", {
    "url": f"http://127.0.0.1:{server.server_port}/hooks",  # https in production
    "event_types": ["*"],
})
server.handle_request()  # the first event says that the endpoint is enabled
print(received)
# docs: end
assert received == ["webhook_endpoint.enabled"]

# docs: errors
def call_safely(path, body, key):
    for attempt in range(6):
        try:
            return call("POST", path, body, {"Idempotency-Key": key})
        except urllib.error.HTTPError as answer:
            problem = json.load(answer)
            if not problem["retryable"]:
                raise ValueError(
                    f"{problem['code']}: {problem['detail']}", problem.get("errors"))
            time.sleep(int(answer.headers.get("Retry-After", 1)))
        except OSError:  # no answer came: the key makes it safe to repeat
            time.sleep(2 ** attempt)
    raise TimeoutError("the API does not answer")

try:
    context = {"partner": "acme", "term": "1 year"}
    call_safely("/quotes", {"product": "quake-circle", "context": context}, "quote-4711")
except ValueError as error:
    print(error)
# docs: end
    assert str(error).startswith("('validation_failed")
else:
    raise AssertionError("a term in words was accepted")
