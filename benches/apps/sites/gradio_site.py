"""A form of Gradio, whose functions write what they were given to a file."""

import json
import os
import sys
import time
from pathlib import Path

import gradio

kept = Path(os.environ["HOME"]) / "kept.jsonl"


def keep(kind, *values):
    with kept.open("a") as file:
        file.write(json.dumps([kind, *values], ensure_ascii=False, default=str) + "\n")


def order(name, boat, extras, wind, guests, agreed):
    keep("order", name, boat, extras, wind, guests, agreed)
    return f"Ordered for {name}"


def forecast(place):
    time.sleep(10)
    keep("forecast", place)
    return f"Calm at {place}"


def answer(message, history):
    keep("chat", message, len(history))
    return f"You said: {message}"


def table(rows):
    keep("table", rows.values.tolist())
    return "Stored"


with gradio.Blocks(title="Charter") as page:
    with gradio.Tab("Order"):
        name = gradio.Textbox(label="Name")
        boat = gradio.Dropdown(["Petrel", "Curlew", "Avocet"], label="Boat", value=None)
        extras = gradio.CheckboxGroup(["Dinghy", "Kayak", "Linen"], label="Extras")
        wind = gradio.Radio(["Light", "Fresh", "Strong"], label="Wind")
        guests = gradio.Slider(1, 12, value=2, step=1, label="Guests")
        agreed = gradio.Checkbox(label="I agree")
        said = gradio.Textbox(label="Result")
        gradio.Button("Send order").click(order, [name, boat, extras, wind, guests, agreed], said)
    with gradio.Tab("Forecast"):
        place = gradio.Textbox(label="Place")
        weather = gradio.Textbox(label="Weather")
        gradio.Button("Ask for the forecast").click(forecast, place, weather)
    with gradio.Tab("Chat"):
        gradio.ChatInterface(answer)
    with gradio.Tab("Stores"):
        rows = gradio.Dataframe([["rope", 12], ["paint", 3]], headers=["Thing", "Amount"], interactive=True, label="Stores")
        stored = gradio.Textbox(label="State")
        gradio.Button("Store").click(table, rows, stored)

page.launch(server_name="0.0.0.0", server_port=int(sys.argv[1]), quiet=True)
