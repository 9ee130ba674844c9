"""Questions about passages, their answers, and the accuracy of documents. Light to
import."""
