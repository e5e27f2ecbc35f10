"""A synthetic stand-in for the lending data: the same 27 columns.

276 days from 1 July 2002 with more applications on weekdays, and the few numbers that are public of the first 50,000:
16.364% take the loan, the mean FICO score is 731, the mean monthly payment 585 dollars or 2.05% of the loan. Whether
somebody takes a loan is a logistic function of features and price whose coefficients wander from day to day (an
Ornstein-Uhlenbeck process; `drift` is how far, 0 stands still).
"""

import csv
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftwise.core.seeding import generator
from driftwise.core.types import Floats, Ints
from driftwise.papers.hedging_the_drift.loans import CARS, Loans

Columns = dict[str, NDArray[Any]]

APPLICATIONS, DAYS, FIRST = 50_000, 276, date(2002, 7, 1)
TAKE_UP = 0.16364
WEEK = (1.25, 1.2, 1.15, 1.1, 1.0, 0.7, 0.6)  # Monday to Sunday
TERMS = {36: 0.13, 48: 0.15, 60: 0.50, 66: 0.04, 72: 0.18}
CAR_SHARES, CAR_RATES = (0.42, 0.28, 0.30), (0.0, 0.45, 0.3)
TIERS, SPREADS = (740, 710, 675), (-0.75, -0.2, 0.7, 2.6)  # least FICO of tiers 1 to 3; what a tier pays more, percent
STATES = ("CA", "TX", "FL", "NY", "IL", "OH", "PA", "GA")
TASTE = (-0.5, 0.1, -0.25, 0.0, -0.7, 0.9, 0.3, -2.8)  # of FICO, term, amount, prime, new, used, competitor, price
MEMORY, WANDER = 0.97, 0.35


def loans(instance: int, drift: float) -> Loans:
    """The stand-in as what is read from a file."""
    table = columns(instance, drift)
    cars = {name: float(place) for place, name in enumerate(CARS)}
    return Loans(
        day=table["days"] + FIRST.toordinal(),
        fico=table["Primary_FICO"].astype(float),
        term=table["Term"].astype(float),
        amount=table["Amount_Approved"],
        prime=table["onemonth"],
        car=np.array([cars[name] for name in table["CarType"]]),
        competitor=table["Competition_rate"],
        payment=table["mp"],
        applied=table["apply"].astype(float),
    )


def write_csv(path: Path, instance: int, drift: float) -> None:
    """The stand-in as a file like Columbia's."""
    table = columns(instance, drift)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))


def columns(instance: int, drift: float) -> Columns:
    """All 27 columns, an application a row."""

    def luck(name: str) -> np.random.Generator:
        return generator(instance, "stand-in", name)

    day = _days(luck("days"))
    rows = len(day)
    fico = np.clip(luck("fico").normal(731.0, 46.0, rows).round(), 560, 850).astype(np.int64)
    term = luck("term").choice(list(TERMS), rows, p=list(TERMS.values()))
    car = luck("car").choice(len(CARS), rows, p=CAR_SHARES)
    amount = np.clip((luck("amount").lognormal(np.log(28_700) - 0.45**2 / 2, 0.45, rows) / 100).round(), 50, 1000) * 100
    prime = _prime(luck("prime"))[day].round(2)
    rates = 3.3 + prime + 0.006 * (term - 60) + np.array(CAR_RATES)[car]
    competitor = (rates + luck("competitor").normal(0.0, 0.2, rows)).round(2)
    tier = 1 + np.digitize(-fico, [-least for least in TIERS], right=True)
    rate = (competitor + np.array(SPREADS)[tier - 1] + luck("rate").normal(0.0, 0.25, rows)).round(2)
    payment = (amount * (rate / 1200) / (1.0 - (1.0 + rate / 1200) ** -term)).round(2)
    loans = Loans(
        day, *(np.asarray(each, float) for each in (fico, term, amount, prime, car, competitor, payment, day))
    )
    dates = np.array([f"{FIRST + timedelta(days=int(each)):%m/%d/%Y}" for each in range(DAYS + 60)])
    refinanced = np.array(CARS)[car] == "R"
    before = (rate + luck("before").uniform(1.0, 5.0, rows)).round(2)
    return {
        "Tier": tier,
        "Primary_FICO": fico,
        "State": luck("state").choice(STATES, rows),
        "Type": np.where(refinanced, "R", "F"),
        "Approve_Date": dates[day + 1],
        "Apply_Date": dates[day],
        "Fund_Date": dates[day + luck("fund").integers(5, 45, rows)],
        "Term": term,
        "New_Rate": (rate - np.array(CAR_RATES)[car]).round(2),
        "Used_Rate": (rate - np.array(CAR_RATES)[car] + CAR_RATES[1]).round(2),
        "Amount_Approved": amount,
        "Previous_Rate": np.where(refinanced, before.astype(str), ""),
        "CarType": np.array(CARS)[car],
        "Competition_rate": competitor,
        "rate": rate,
        "onemonth": prime,
        "days": day,
        "weeks": day // 7,
        "months": day // 30,
        "termclass": np.digitize(term, (48, 60, 66)) + 1,
        "rate1": (rate / 100).round(4),
        "rel_compet_rate": (rate - competitor).round(2),
        "mp": payment,
        "mp_rto_amtfinance": (payment / amount).round(6),
        "partnerbin": luck("partner").integers(1, 4, rows),
        "CarType_id": car + 1,
        "apply": _answers(loans, drift, luck("taste"), luck("answers")),
    }


def _days(luck: np.random.Generator) -> Ints:
    """The day of each application."""
    week = np.array([WEEK[(FIRST + timedelta(days=day)).weekday()] for day in range(DAYS)])
    shares = week * luck.uniform(0.8, 1.2, DAYS)
    edges = (np.append(0.0, np.cumsum(shares)) / shares.sum() * APPLICATIONS).round().astype(np.int64)
    return np.repeat(np.arange(DAYS), np.diff(edges))


def _prime(luck: np.random.Generator) -> Floats:
    """The one-month rate of each day: from 1.84% down to 1.32%, not quite straight."""
    steps = np.cumsum(luck.normal(0.0, 0.01, DAYS))
    bridge: Floats = steps - np.linspace(steps[0], steps[-1], DAYS)
    return bridge + np.linspace(1.84, 1.32, DAYS)


def _answers(loans: Loans, drift: float, taste: np.random.Generator, answers: np.random.Generator) -> Ints:
    """Who takes the loan: 1 or 0."""
    features = (
        *((loans.fico - 731) / 46, (loans.term - 60) / 11, (loans.amount - 28_700) / 13_000),
        *((loans.prime - 1.58) / 0.15, loans.car == 0, loans.car == 1),
        *(loans.competitor - 5.0, loans.price / 5000),
    )
    wandering = taste.normal(0.0, 1.0, (DAYS, 1 + len(TASTE)))
    for day in range(1, DAYS):
        wandering[day] = MEMORY * wandering[day - 1] + np.sqrt(1.0 - MEMORY**2) * wandering[day]
    tastes = np.append(0.0, TASTE) + WANDER * drift * wandering
    score = np.einsum("ij,ij->i", np.column_stack([np.ones(len(loans.day)), *features]), tastes[loans.day])
    low, high = -100.0, 100.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _logistic(score + middle).mean() < TAKE_UP else (low, middle)
    return (answers.random(len(score)) < _logistic(score + low)).astype(np.int64)


def _logistic(score: Floats) -> Floats:
    chance: Floats = 0.5 * (1.0 + np.tanh(0.5 * score))
    return chance
