from gevglm.cli import main


def test_demo_prints_the_summary_and_saves_a_picture(tmp_path, capsys):
    assert main(["demo", "--folder", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "GEV(xi=0.5)" in shown and "canonical" in shown
    assert "calibration slope" in shown and "by maximum likelihood" in shown
    for name in ("risk.png", "calibration.png"):
        assert (tmp_path / name).stat().st_size > 10_000
