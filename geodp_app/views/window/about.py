"""Words of the help menu."""

from __future__ import annotations

from geodp_app.version import __version__


def about_text() -> str:
    """Version, licence, source."""
    return (
        f"<h3>geodp {__version__}</h3>"
        "<p>Learn regions of the plane from labelled points, under differential privacy.</p>"
        "<p>After H. Kaplan, Y. Mansour, Y. Matias and U. Stemmer, <i>Differentially Private "
        "Learning of Geometric Concepts</i>, ICML 2019.</p><p>Apache License 2.0.</p>"
    )


def privacy_text() -> str:
    """What the statement promises, and what it does not."""
    return (
        "<p><b>What ε and δ promise.</b> Whoever sees the released shape can hardly tell whether "
        "any one report was among the examples: with or without it, every outcome is about "
        "equally likely, up to a factor of e<sup>ε</sup>, except with probability δ.</p>"
        "<p><b>What is released.</b> The chosen pieces and the noisy thresholds, once all steps "
        "are done. Everything under a mark “Private data” is for you alone.</p>"
        "<p><b>What adds up.</b> Each run on the same examples spends its ε again, also one that "
        "was cancelled: a run made in its place is not covered by its own statement alone. And "
        "what is published must not be chosen by how long a run took or by private figures.</p>"
        "<p><b>What is not promised.</b> A person with many reports is protected only as a "
        "group; a seeded run is not private; the running time depends on the examples.</p>"
    )
