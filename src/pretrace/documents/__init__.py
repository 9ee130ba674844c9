"""From the bytes of a file to the text of a work, with a report of what was left out.

In come files as people have them: EPUB, DOCX, ODT, RTF, PDF, HTML, Markdown, or text in
any encoding, packed or not. Out goes the text in its lines (`layout.LaidOutText`), and
what its reader left out or could not tell.

Read `formats.read_document` first: it finds the reader of a file (`readers/`).
`works.works_in` lists the works of a folder and `works.read_work` reads one, once for
all runs. `passages` cuts a text, `languages` says what it is counted in, `typesetting`
writes signs alike. `unpacking` opens packed files, those of rows too. Needs no
benchmark, no pandas and no torch.
"""
