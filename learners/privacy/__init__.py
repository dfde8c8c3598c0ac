"""Privacy accounts, and what draws: noise, the exponential mechanism, random bits.

accounting              budgets, charges and statements
composition             what several steps cost together: of a set cover, and of any mechanisms
several_runs            what several runs cost together
privacy_loss            what a charge is to other accountants
randomness              all random bits of releases
noise                   integer Laplace noise
exponential_mechanism   draws from lists, exactly
"""
