"""The benchmark of the contact estimator writes its table, plot and figures."""

import argparse
import json

from contact_experiments.bench import contacts


def test_a_short_run_writes_everything(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(contacts, "COUNTS", (100,))
    monkeypatch.setattr(contacts, "NOISES", (0.3,))
    monkeypatch.setattr(contacts, "FRICTIONS", (0.0,))
    monkeypatch.setattr(contacts, "PAIRS", ((5, 7),))
    monkeypatch.setattr(contacts, "AT_ONCE", ((5, 7),))
    parser = argparse.ArgumentParser()
    contacts.add_arguments(parser)
    figures, plot = tmp_path / "contacts.json", tmp_path / "contacts.png"
    words = ["--quick", "--trials", "1", "--json", str(figures), "--plot", str(plot)]
    assert contacts.main(parser.parse_args(words)) == 0
    assert "particles/s" in capsys.readouterr().out
    assert plot.stat().st_size > 10_000
    found = json.loads(figures.read_text(), parse_constant=lambda name: 1 / 0)
    assert len(found["single"]) == len(contacts.singles())
    assert [row["second"] for row in found["pairs"]][-1] == "lbr_link_7"
    assert [row["part"] for row in found["tool"]] == list(contacts.TOOL)
    assert len(found["at_once"]) == len(contacts.AT_ONCE)
    at_wrist = next(row for row in found["single"] if row["setting"]["link"] == "lbr_link_7")
    assert at_wrist["location_p50"] < 0.05
    assert found["speed"][0]["particles"] == 100
