from gevglm.cli import main


def test_demo_prints_the_summary_and_ends_with_the_report(tmp_path, capsys):
    assert main(["demo", "--folder", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "GEV(xi=0.5)" in shown and "canonical" in shown
    assert "calibration slope" in shown and "by maximum likelihood" in shown
    assert shown.splitlines()[-1].endswith(str(tmp_path / "report.html"))
    for name in ("risk.png", "calibration.png", "report.html"):
        assert (tmp_path / name).stat().st_size > 10_000
