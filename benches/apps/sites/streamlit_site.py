"""A page of Streamlit, which writes what it was given to a file."""

import datetime
import json
import os
from pathlib import Path

import streamlit as st


def keep(kind, **values):
    with (Path(os.environ["HOME"]) / "kept.jsonl").open("a") as file:
        file.write(json.dumps([kind, values], ensure_ascii=False, default=str) + "\n")


st.title("Pilot office")
page = st.sidebar.radio("Page", ["Request", "Settings"])
if page == "Request":
    with st.form("request"):
        ship = st.text_input("Ship")
        port = st.selectbox("Port", ["Bergen", "Brest", "Cork", "Faro"])
        needs = st.multiselect("Needs", ["Tug", "Water", "Doctor", "Crane"])
        day = st.date_input("Day", datetime.date(2031, 5, 6))
        draft = st.number_input("Draft", 1, 20, 5)
        notes = st.text_area("Notes")
        if st.form_submit_button("Send request"):
            keep("request", ship=ship, port=port, needs=needs, day=day, draft=draft, notes=notes)
            st.success(f"Request of {ship} sent")
else:
    speed = st.slider("Speed", 0, 30, 10)
    night = st.toggle("Night mode")
    with st.expander("Danger"):
        if st.button("Close the office"):

            @st.dialog("Really close?")
            def sure():
                st.write("Nobody can send requests then.")
                if st.button("Yes, close"):
                    keep("closed")
                    st.rerun()

            sure()
    if st.button("Keep settings"):
        keep("settings", speed=speed, night=night)
        st.toast("Settings kept")
