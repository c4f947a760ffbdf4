"""A few lines of scikit-learn each that try to win a home problem: `rivals/<stem>.py`.

Every public function is one attempt. It gets what our method gets, and returns an answer of the
same form; the first line of its docstring names it.
"""
