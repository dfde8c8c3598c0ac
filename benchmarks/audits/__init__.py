"""Audits of everything: events, whole releases, canaries, and broken twins that must be caught.

    python -m benchmarks.audits [--share 1] [--report build/audit.md]

events      the bound: an event is searched for and tested on fresh runs
declared    how each learner is audited; command is what `geodp audit` does
subjects    the learners' audits as they are declared, and mechanisms alone
parts       tile choice and counts, borders, sharpening, a cover whose k is not told, support,
            a budget
whole       a classifier trained on whole releases tells two samples apart
canaries    many examples that are in or not, guessed from one release; one_run has the bound
twins       each mechanism once more, broken; broken_parts the same of parts
report      the page
"""
