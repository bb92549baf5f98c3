import time

from django.db import models


class Author(models.Model):
    name = models.CharField(max_length=80, unique=True)
    born = models.DateField(null=True, blank=True)

    def __str__(self):
        return self.name


class Publisher(models.Model):
    name = models.CharField(max_length=80)

    def __str__(self):
        return self.name


class Genre(models.Model):
    name = models.CharField(max_length=40)

    def __str__(self):
        return self.name


class Book(models.Model):
    title = models.CharField(max_length=120)
    author = models.ForeignKey(Author, on_delete=models.CASCADE)
    publisher = models.ForeignKey(Publisher, on_delete=models.SET_NULL, null=True, blank=True)
    genres = models.ManyToManyField(Genre, blank=True)
    published = models.DateField(null=True, blank=True)
    pages = models.PositiveIntegerField(default=100)
    in_print = models.BooleanField(default=True)

    def __str__(self):
        return self.title


class Loan(models.Model):
    book = models.ForeignKey(Book, on_delete=models.CASCADE)
    reader = models.CharField(max_length=80)
    until = models.DateTimeField(null=True, blank=True)

    def __str__(self):
        return self.reader


class Report(models.Model):
    """A record that takes ten seconds to save, like one that is sent to another office."""

    subject = models.CharField(max_length=80)
    notes = models.TextField(blank=True)

    def __str__(self):
        return self.subject

    def save(self, *args, **more):
        time.sleep(10)
        super().save(*args, **more)
