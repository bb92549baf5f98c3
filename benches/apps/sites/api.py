"""An interface whose documentation is Swagger UI."""

import json
import os
import sys
from pathlib import Path

import uvicorn
from fastapi import FastAPI, HTTPException, Security
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.security import APIKeyHeader
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel

app = FastAPI(title="Harbour", docs_url=None, redoc_url=None)
app.mount("/swagger", StaticFiles(directory=sys.argv[2]))
key = APIKeyHeader(name="X-Key", auto_error=False)
boats = {1: {"name": "Petrel", "length": 9}, 2: {"name": "Osprey", "length": 15}}


class Boat(BaseModel):
    name: str
    length: int


def keep():
    (Path(os.environ["HOME"]) / "boats.json").write_text(json.dumps(boats))


@app.get("/docs", include_in_schema=False)
def docs():
    return get_swagger_ui_html(openapi_url="/openapi.json", title="Harbour", swagger_js_url="/swagger/swagger-ui-bundle.js", swagger_css_url="/swagger/swagger-ui.css", swagger_favicon_url="/swagger/favicon-32x32.png")


@app.get("/boats", summary="List boats")
def list_boats(longer_than: int = 0):
    return {number: boat for number, boat in boats.items() if boat["length"] > longer_than}


@app.post("/boats", summary="Add a boat", status_code=201)
def add_boat(boat: Boat):
    number = max(boats, default=0) + 1
    boats[number] = boat.model_dump()
    keep()
    return {"number": number}


@app.delete("/boats/{number}", summary="Remove a boat")
def remove_boat(number: int, given: str = Security(key)):
    if given != "brass-key-9":
        raise HTTPException(403, "wrong key")
    if boats.pop(number, None) is None:
        raise HTTPException(404, "no such boat")
    keep()
    return {"removed": number}


keep()
uvicorn.run(app, host="0.0.0.0", port=int(sys.argv[1]), log_level="warning")
