"""A few lines of scikit-learn each that compete on a `HOME` problem: `rivals/<stem>.py`.

Every public function is one attempt. It gets the same input as our method, and returns an answer
of the same form; the first line of its docstring names it.
"""
