"""Recomputes the hashes and amounts of receipts by the recipes that the manual prints."""
import copy, hashlib, json, pathlib, re, subprocess, sys, tempfile

manual = pathlib.Path("../../../rest")
recipe: dict = {}
for page in ("hashes.md", "receipts.md"):
    exec(re.search(r"```python\n(.*?)```", (manual / page).read_text(), re.S)[1], recipe)

checks = 0


def check(what: str, got, want) -> None:
    global checks
    assert got == want, f"{what}: {got} is not {want}"
    checks += 1


def is_signed(receipt: dict) -> bool:
    """RFC 8032, by openssl. The key is wrapped as RFC 8410 says."""
    header, text, signature = recipe["signing_input"](receipt)
    key = receipt["key"]
    assert header == {"alg": "Ed25519", "kid": recipe["thumbprint"](key), "typ": "parapet-receipt"}, header
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, content in (("key", bytes.fromhex("302a300506032b6570032100") + recipe["unpack"](key["x"])), ("text", text), ("signature", signature)):
            (folder / name).write_bytes(content)
        command = "openssl pkeyutl -verify -pubin -keyform DER -inkey key -rawin -in text -sigfile signature"
        return subprocess.run(command.split(), cwd=folder, capture_output=True).returncode == 0


def verify(receipt: dict, name: str) -> int:
    """Checks a receipt and returns how many amounts were computed again."""
    payload, amounts = receipt["payload"], 0
    check(f"{name}: terms_hash", recipe["terms_hash"](payload), payload["terms_hash"])
    names = {reading["digest"] for reading in payload.get("readings", [])}
    for part in payload.get("parts", []):
        measured = (part["determination"] or {}).get("hashed", {}).get("determination", {}).get("measurement")
        for source in measured["sources"] if measured else []:
            check(f"{name}: readings of {source['source']}", source["readings_digest"] in names, True)
    for reading in payload.get("readings", []):
        check(f"{name}: digest of a reading", recipe["digest"](reading["facts"]), reading["digest"])
    for holder in [payload, *payload.get("parts", [])]:
        for event in holder.get("events", []):
            check(f"{name}: hash of event {event['sequence']}", recipe["event_hash"](event), event["hash"])
    parts = payload.get("parts", [])
    for part in parts:
        if part["determination"]:
            check(f"{name}: receipt_hash", recipe["receipt_hash"](part["determination"]), part["determination"]["receipt_hash"])
    if parts and all(part["computable"] for part in parts):
        for part, amount in zip(parts, recipe["amounts"](payload), strict=True):
            check(f"{name}: amount of part {part['part']}", amount, part["amount"]["amount"] if part["amount"] else 0)
            amounts += 1
    return amounts


receipts = amounts = 0
for file in sorted(pathlib.Path(sys.argv[1]).glob("*/*.json")):
    receipt = json.loads(file.read_text())
    assert is_signed(receipt), f"{file.name} is not signed"
    amounts += verify(receipt, file.name)
    receipts += 1
    changed = copy.deepcopy(receipt)
    changed["payload"]["partner"] += "x"
    assert not is_signed(changed), "a changed receipt has the same signature"
assert receipts >= 5 and amounts >= 5, (receipts, amounts)
print(f"receipts: {receipts} verified in Python: {checks} hashes and amounts, {amounts} of them amounts")
