from IPython.display import HTML, JSON, Latex, Markdown, Math, display

display(Markdown("# Report\n\n- **42** rows"))
display(JSON({"rows": 42, "columns": ["a", "b"]}))
display(Latex(r"$\alpha + \beta$"))
display(Math(r"\int_0^1 x\,dx"))
display(HTML("<h2>Total</h2><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2 &amp; 3</td></tr></table><script>x()</script>"))


class Report:
    def __repr__(self):
        return "Report(rows=42)"

    def _repr_html_(self):
        return "<b>42 rows</b>"


class Summary:
    def _repr_markdown_(self):
        return "**All is well**"


display(Report())
Summary()
