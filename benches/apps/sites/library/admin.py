from django.contrib import admin

from library.models import Author, Book, Genre, Loan, Publisher, Report


class LoanInline(admin.TabularInline):
    model = Loan
    extra = 1


@admin.register(Book)
class BookAdmin(admin.ModelAdmin):
    list_display = ["title", "author", "pages", "published", "in_print"]
    list_editable = ["pages"]
    list_filter = ["in_print", "author"]
    search_fields = ["title"]
    raw_id_fields = ["publisher"]
    filter_horizontal = ["genres"]
    inlines = [LoanInline]


@admin.register(Author)
class AuthorAdmin(admin.ModelAdmin):
    search_fields = ["name"]


@admin.register(Loan)
class LoanAdmin(admin.ModelAdmin):
    list_display = ["reader", "book", "until"]


class BookLoan(Loan):
    class Meta:
        proxy = True
        verbose_name = "desk loan"


@admin.register(BookLoan)
class DeskLoanAdmin(admin.ModelAdmin):
    autocomplete_fields = ["book"]


admin.site.register([Genre, Publisher, Report])
