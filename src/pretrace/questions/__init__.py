"""Questions about passages, their answers, and the accuracy of documents. Light to
import.

In come a benchmark of passages with paraphrases, or of openings, and a model that
answers; out go stored answers, and scores of documents by their answers.

Read `job` first: it makes the tasks and has them answered by a loaded model (`local`,
`tree`) or one behind an API (`over_api`). `answering` writes questions, `calibration`
corrects answers, `scoring` counts them, `collected` reads answers that others
collected.
"""
