"""Records of the library: `manage.py shell` reads this."""

import datetime

from django.contrib.auth.models import User

from library.models import Author, Book, Genre, Publisher

User.objects.create_superuser("warden", "warden@example.com", "Harbour-Lantern-58")
authors = {name: Author.objects.create(name=name) for name in ["Ines Costa", "Bo Lindqvist", "Mara Okafor"]}
for name in ["Basalt Press", "Northlight", "Quarto House"]:
    Publisher.objects.create(name=name)
for name in ["Poetry", "History", "Travel", "Essays"]:
    Genre.objects.create(name=name)
day = datetime.date(2001, 5, 17)
for number, (title, author, in_print) in enumerate(
    [
        ("Salt roads", "Ines Costa", True),
        ("The long ebb", "Bo Lindqvist", False),
        ("Kites over Porto", "Ines Costa", True),
        ("A ledger of storms", "Mara Okafor", True),
        ("Winter harbour", "Bo Lindqvist", True),
        ("Paper lanterns", "Mara Okafor", False),
    ]
):
    Book.objects.create(title=title, author=authors[author], pages=120 + 7 * number, in_print=in_print, published=day.replace(year=2001 + number))
