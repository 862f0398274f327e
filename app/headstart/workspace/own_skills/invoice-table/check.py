"""Add up a table of invoices, and name the lines whose net amount and tax do not make the total."""

import csv
import sys
from collections import defaultdict
from decimal import Decimal, InvalidOperation


def amount(text: str) -> Decimal | None:
    try:
        return Decimal(text.strip()) if text.strip() else None
    except InvalidOperation:
        print(f"no number: {text}")
        return None


def main() -> None:
    """Read the table that is named, and print the sums."""
    sums: defaultdict[str, Decimal] = defaultdict(Decimal)
    with open(sys.argv[1], encoding="utf-8-sig", newline="") as file:  # noqa: PTH123
        for number, row in enumerate(csv.DictReader(file), start=2):
            net, tax, total = (amount(row.get(name) or "") for name in ("net", "tax", "total"))
            if total is None:
                print(f"line {number} has no total: {row.get('file')}")
                continue
            sums[row.get("currency") or "?"] += total
            if net is not None and tax is not None and net + tax != total:
                print(f"line {number}: {net} + {tax} is {net + tax}, not {total}: {row.get('file')}")
    for currency, total in sorted(sums.items()):
        print(f"total {currency}: {total}")


if __name__ == "__main__":
    main()
