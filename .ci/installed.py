"""Run by an environment that holds the wheel alone: what must be in it, and what must not."""

import importlib.metadata
import importlib.util
import sys
from pathlib import Path

import geodp
from assets import example_path, examples, icon_path, icons, palette_path, towns_path

TOP = {"assets", "geodp-stubs", "geodp.py", "geodp_app", "geometry", "learners"}

files = importlib.metadata.files("geodp") or []
top = {path.parts[0] for path in files if path.parts[0] not in ("..", "__pycache__")}
unexpected = {name for name in top - TOP if not name.endswith(".dist-info")}
assert top >= TOP, f"missing from the wheel: {TOP - top}"
assert not unexpected, f"installed, but should not be: {unexpected}"
for stranger in ("tests", "benchmarks", "docs"):
    assert importlib.util.find_spec(stranger) is None, f"{stranger} is installed"

folder = Path(sys.prefix).resolve()
assets = [example_path(name) for name in examples()]
assets += [icon_path(name) for name in icons()]
assets += [palette_path("light"), palette_path("dark"), towns_path()]
for path in assets:
    assert path.is_file(), f"not installed: {path}"
    assert folder in path.resolve().parents, f"not of this environment: {path}"
assert len(icons()) > 20
for package in ("assets", "geodp_app", "geometry", "learners"):
    assert (Path(geodp.__file__).parent / package / "py.typed").is_file(), f"{package}: not typed"
page = importlib.metadata.metadata("geodp")
assert page["Description-Content-Type"] == "text/markdown"
assert "](docs/" not in str(page.get_payload()), "a link that leads nowhere on an index"
print(f"{len(files)} files installed, {len(assets)} assets found")
