"""Flask-Admin over a database of berths: what its guide builds, with models of its own."""

import datetime
import os
import sys
from pathlib import Path

from flask import Flask, redirect
from flask_admin import Admin
from flask_admin.contrib.sqla import ModelView
from flask_sqlalchemy import SQLAlchemy

app = Flask(__name__)
app.config["SECRET_KEY"] = "of a benchmark"
app.config["SQLALCHEMY_DATABASE_URI"] = f"sqlite:///{Path(os.environ['HOME']) / 'berths.sqlite'}"
db = SQLAlchemy(app)


class Owner(db.Model):
    id = db.Column(db.Integer, primary_key=True)
    name = db.Column(db.String(80))

    def __str__(self):
        return self.name


class Berth(db.Model):
    id = db.Column(db.Integer, primary_key=True)
    code = db.Column(db.String(20))
    kind = db.Column(db.String(20))
    length = db.Column(db.Integer)
    paid_until = db.Column(db.Date)
    owner_id = db.Column(db.Integer, db.ForeignKey("owner.id"))
    owner = db.relationship(Owner)


class BerthView(ModelView):
    column_list = ["code", "kind", "length", "paid_until", "owner"]
    column_filters = ["kind", "length"]
    column_searchable_list = ["code"]
    column_editable_list = ["length"]
    form_choices = {"kind": [("pier", "Pier"), ("buoy", "Buoy"), ("quay", "Quay")]}
    can_export = False


class OwnerView(ModelView):
    create_modal = True
    edit_modal = True


admin = Admin(app, name="Berths")
admin.add_view(BerthView(Berth, db.session if hasattr(db, "session") else db))
admin.add_view(OwnerView(Owner, db.session if hasattr(db, "session") else db))


@app.route("/")
def home():
    return redirect("/admin/berth/")


def fill():
    db.create_all()
    owners = [Owner(name=name) for name in ("Ada Warden", "Bo Lindqvist", "Ines Costa")]
    db.session.add_all(owners)
    for number in range(1, 31):
        kind = ("pier", "buoy", "quay")[number % 3]
        day = datetime.date(2031, 1, number)
        db.session.add(Berth(code=f"B{number:02}", kind=kind, length=6 + number % 7, paid_until=day, owner=owners[number % 3]))
    db.session.commit()


if __name__ == "__main__":
    with app.app_context():
        fill()
    app.run("0.0.0.0", int(sys.argv[1]), threaded=True)
