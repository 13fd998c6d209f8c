"""Computes quotes again by the manual's chapter Prices, with nothing but Python.

The quotes come from the server that the environment's PARAPET names. Every line
of the premium must come out to the cent, from the quote and its list of weighed
events; and for the events of the data set, so must each event's moments.
"""

import csv
import gzip
import hashlib
import json
import math
import os
import random
import sys
import urllib.error
import urllib.request
from datetime import datetime, timedelta, timezone
from decimal import Decimal, getcontext
from fractions import Fraction

getcontext().prec = 60
EARTH = 6371.0088
SERVER = json.loads(os.environ["PARAPET"])
TOKEN = next(client["token"] for client in SERVER["clients"] if client["partner"] == "acme")


def call(method, path, body=None):
    """One request as the partner acme; (status, answer)."""
    request = urllib.request.Request(
        SERVER["base_url"] + "/v1" + path, method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": "Bearer " + TOKEN, "Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused)


def weighed_events(quote):
    events, cursor = [], ""
    while True:
        status, page = call("GET", f"/quotes/{quote['id']}/basis?limit=100" + cursor)
        assert status == 200, page
        events += page["data"]
        if not page["has_more"]:
            return events
        cursor = "&cursor=" + page["next_cursor"]


def half_up(x):
    """Rounds a Fraction that is not below 0."""
    return math.floor(x + Fraction(1, 2))


def root(x):
    """√ of a Fraction, far beyond a cent."""
    return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).sqrt())


def largest_factor(payout):
    if payout["shape"] != "step":
        return Fraction(1)
    tables = [ring["steps"] for ring in payout.get("rings", [])] or [payout["steps"]]
    return max(Fraction(rung["factor"]) for table in tables for rung in table)


def season_share(term):
    """The part of the year that a term of whole days lasts, at most 1."""
    return Fraction(min(int(term.removeprefix("P").removesuffix("D")), 365), 365)


def box_radius(place):
    """A quarter of the height and the width of a box, in kilometres."""
    west, south, east, north = (place[border] for border in ("west", "south", "east", "north"))
    degree = EARTH * (math.pi / 180)
    width = (east - west if west < east else east + 360 - west) * degree * math.cos(math.radians(max(0, south, -north)))
    return ((north - south) * degree + width) / 4


def prior(quote):
    """q of the fourth section."""
    place, basis = quote["cover"]["place"], quote["basis"]
    q, c = season_share(quote["cover"]["term"]), Fraction(basis["smoothing_km"])
    if place["kind"] == "station" or c == 0:
        return q
    r = Fraction(str(place["radius_km"] if place["kind"] == "circle" else box_radius(place)))
    part = r / (r + 3 * c)
    return q * (part * part if quote["cover"]["trigger"]["kind"] == "earthquake" else part)


def lines(quote, events):
    """The lines of the premium from the events."""
    basis, limit = quote["basis"], quote["cover"]["limit"]["amount"]
    years = {}
    for event in events:
        years[event["year"]] = years.get(event["year"], 0) + Fraction(event["share"])
    annual = sum((min(Fraction(1), year) for year in years.values()), Fraction(0))
    squares = sum((Fraction(event["share_square"]) for event in events), Fraction(0))
    weights = sum((Fraction(event["weight"]) for event in events), Fraction(0))
    for name, value in (("annual_share_sum", annual), ("square_sum", squares), ("weight_sum", weights)):
        assert Fraction(basis[name]) == value, (name, basis[name], value)
    n, f, q = basis["years"], largest_factor(quote["cover"]["payout"]), prior(quote)
    expected = limit * (annual + q * f / 2) / n
    variance = Fraction(limit) ** 2 * (squares + q * f * f / 2) / n
    uncertainty = Fraction(basis["uncertainty_factor"]) * root(variance / n)
    risk = Fraction(basis["risk_factor"]) * root(variance)
    premium = (expected + uncertainty + risk) / (1 - Fraction(basis["expense_share"]) - Fraction(basis["commission_share"]))
    result = {
        "expected_loss": half_up(expected), "uncertainty_load": half_up(uncertainty), "risk_load": half_up(risk),
        "expense": half_up(Fraction(basis["expense_share"]) * premium),
    }
    result["commission"] = half_up(premium) - sum(result.values())
    least = basis["minimum_premium"]["amount"] - half_up(premium)
    if least > 0:
        result["minimum_premium"] = least
    rate = (weights + q / 2) / n
    probability = 1 - math.exp(-float(rate))
    assert abs(float(basis["attachment_probability"]) - probability) < 1e-9, (basis["attachment_probability"], probability)
    assert abs(float(basis["return_period_years"]) * float(rate) - 1) < 1e-9
    return result


def distance(a, b):
    """Haversine, in kilometres."""
    p, q = math.radians(a[0]), math.radians(b[0])
    h = math.sin((q - p) / 2) ** 2 + math.cos(p) * math.cos(q) * math.sin(math.radians(b[1] - a[1]) / 2) ** 2
    return 2 * EARTH * math.asin(min(1, math.sqrt(h)))


def rice(d, r, c):
    """P(d, r): a circle displaced by c holds a point at d."""
    lam, x = d * d / (2 * c * c), r * r / (2 * c * c)
    weight, inner, outer, total = math.exp(-lam), math.exp(-x), 0.0, 0.0
    for k in range(int(lam + 12 * math.sqrt(lam + 1) + 40)):
        outer += inner
        total += weight * max(0.0, 1 - outer)
        weight *= lam / (k + 1)
        inner *= x / (k + 1)
    return total


def in_season(season, moment):
    if season is None:
        return True
    day = moment.strftime("%m-%d")
    if season["from"] < season["to"]:
        return season["from"] <= day < season["to"]
    return day >= season["from"] or day < season["to"]


def read_quakes(folder, digest):
    with gzip.open(os.path.join(folder, "quakes-1965-2022.csv.gz")) as packed:
        content = packed.read()
    assert digest == "sha256:" + hashlib.sha256(content).hexdigest(), "the data set is another one"
    return [
        (row["id"], datetime.fromisoformat(row["time"].replace("Z", "+00:00")), (float(row["latitude"]), float(row["longitude"])),
         Fraction(row["magnitude"]), row["depth_km"])
        for row in csv.DictReader(content.decode().splitlines())
    ]


def weigh_quakes(quote, quakes):
    """The moments (p, s, a) of each earthquake that counts, from the data set."""
    cover, basis = quote["cover"], quote["basis"]
    center, r, c = (cover["place"]["latitude"], cover["place"]["longitude"]), cover["place"]["radius_km"], float(basis["smoothing_km"])
    steps, depth = cover["payout"]["steps"], cover["trigger"].get("maximum_depth_km")
    moments = {}
    for name, at, where, magnitude, deep in quakes:
        if abs(where[0] - center[0]) > 10 or not in_season(basis["season"], at):
            continue
        if depth is not None and deep != "" and Fraction(deep) > Fraction(depth):
            continue
        factor = max((Fraction(step["factor"]) for step in steps if magnitude >= Fraction(step["threshold"])), default=Fraction(0))
        d = distance(center, where)
        if factor == 0 or d > r + 3 * c:
            continue
        p = rice(d, r, c)
        moments[name] = (float(factor) * p, float(factor) ** 2 * p, p)
    return {name: m for name, m in moments.items() if m[2] >= 0.5e-12}


def check(quote, quakes):
    events = weighed_events(quote)
    assert len(events) == quote["basis"]["weighed_events"]
    given = {line["kind"]: line["amount"]["amount"] for line in quote["price"]["lines"]}
    again = lines(quote, events)
    assert given == again, (quote["id"], given, again)
    assert sum(given.values()) == quote["price"]["premium"]["amount"]
    if quote["product"] != "quake-circle":
        return
    found = weigh_quakes(quote, quakes)
    assert {event["id"] for event in events} == set(found), (quote["id"], {event["id"] for event in events} ^ set(found))
    for event in events:
        for member, value in zip(("share", "share_square", "weight"), found[event["id"]]):
            assert abs(float(event[member]) - value) < 1e-11, (event, member, value)


def contexts():
    """Contexts of all products, the same in every run."""
    draw = random.Random(1906)
    places = [(23.98, 121.61), (35.68, 139.69), (-33.45, -70.67), (37.77, -122.42), (41.01, 28.98), (52.52, 13.40), (-8.65, 115.22)]
    shores = [(25.76, -80.19), (29.95, -90.07), (18.47, -66.11), (32.30, -64.78), (14.60, -61.08), (21.16, -86.85)]
    seasons = ["P365D", "P366D", "P92D", "P183D"]
    while True:
        common = {"partner": "acme", "term": draw.choice(seasons), "limit": {"amount": draw.randint(100_000, 900_000_000), "currency": draw.choice(["USD", "EUR"])}}
        if draw.random() < 0.5:
            start = datetime.now(timezone.utc) + timedelta(days=draw.randint(1, 300))
            common["starts_at"] = start.replace(microsecond=0).isoformat().replace("+00:00", "Z")
        where = draw.choice(places)
        yield "quake-circle", common | {"location": {"latitude": where[0], "longitude": where[1]}, "radius_km": draw.randint(5, 150)}
        where = draw.choice(shores)
        yield "cyclone-circle", common | {"location": {"latitude": where[0], "longitude": where[1]}, "radius_km": draw.randint(5, 150)}
        yield "cyclone-pressure", common | {"location": {"latitude": where[0], "longitude": where[1]}, "radius_km": draw.randint(50, 200)}
        west, south = round(draw.uniform(-85, -62), 3), round(draw.uniform(15, 27), 3)
        box = {"west": west, "south": south, "east": round(west + draw.uniform(0.5, 4), 3), "north": round(south + draw.uniform(0.5, 4), 3)}
        yield "cyclone-pressure", common | {"box": box}
        attach = draw.randint(80, 160)
        yield "rain-excess", common | {"station": draw.choice(["Milwaukee", "Merced"]), "days": draw.randint(1, 20), "attach": str(attach), "exhaust": str(attach + 100)}
        hot = draw.randint(10, 30)
        yield "heat-days", common | {"attach": str(hot), "exhaust": str(hot + draw.randint(1, 30))}
        yield "rain-deficit", common | {"station": "Milwaukee", "attach": str(draw.randint(3, 12)), "exhaust": "0"}


def main():
    quakes, counted = None, {}
    for product, context in contexts():
        if sum(counted.values()) == 50:
            break
        status, quote = call("POST", "/quotes", {"product": product, "context": context})
        if status == 422 and quote["code"] in ("risk_uninsurable", "validation_failed"):
            continue  # what cannot be sold has no price to compare
        assert status == 201, quote
        if quakes is None and product == "quake-circle":
            quakes = read_quakes(sys.argv[1], quote["basis"]["dataset_digest"])
        check(quote, quakes)
        counted[product] = counted.get(product, 0) + 1
    assert len(counted) == 6, counted
    print("computed again to the cent:", ", ".join(f"{n} of {product}" for product, n in sorted(counted.items())))


main()
