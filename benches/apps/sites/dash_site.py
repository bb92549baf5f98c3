"""A page of Dash, which writes its state to a file."""

import json
import os
import sys
from pathlib import Path

from dash import Dash, Input, Output, dash_table, dcc, html

app = Dash(__name__, serve_locally=True)
kept = Path(os.environ["HOME"]) / "state.json"
boats = [{"boat": f"Boat {i}", "port": ["Faro", "Vigo", "Cork"][i % 3], "price": (i * 37) % 101} for i in range(1, 61)]
app.layout = html.Div(
    [
        html.H1("Fleet report"),
        html.Label("Ports", htmlFor="ports"),
        dcc.Dropdown(["Faro", "Vigo", "Cork", "Brest"], [], multi=True, id="ports"),
        html.Label("Period"),
        dcc.DatePickerRange(id="period", start_date="2031-05-06", end_date="2031-05-07", display_format="YYYY-MM-DD"),
        dcc.Tabs([dcc.Tab(label="Summary", value="summary"), dcc.Tab(label="Costs", value="costs")], value="summary", id="tabs"),
        dcc.Checklist(["Show sold boats"], [], id="sold"),
        dash_table.DataTable(
            boats,
            [{"name": "Boat", "id": "boat"}, {"name": "Port", "id": "port"}, {"name": "Price", "id": "price", "editable": True, "type": "numeric"}],
            id="table",
            page_size=8,
            sort_action="native",
            filter_action="native",
            row_selectable="multi",
        ),
        html.P(id="said"),
    ]
)


@app.callback(
    Output("said", "children"),
    Input("ports", "value"),
    Input("period", "start_date"),
    Input("period", "end_date"),
    Input("tabs", "value"),
    Input("sold", "value"),
    Input("table", "data"),
    Input("table", "selected_rows"),
    Input("table", "filter_query"),
    Input("table", "sort_by"),
)
def changed(ports, start, end, tab, sold, rows, selected, query, sort_by):
    changed_rows = [row for row, before in zip(rows or [], boats) if row != before]
    state = {"ports": ports, "period": [start, end], "tab": tab, "sold": sold, "changed": changed_rows, "selected": selected, "query": query, "sort": sort_by}
    kept.write_text(json.dumps(state))
    return "Kept."


app.run(host="0.0.0.0", port=int(sys.argv[1]), debug=False)
