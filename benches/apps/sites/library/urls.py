from django.contrib import admin
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.urls import include, path
from rest_framework import routers, serializers, viewsets

from library.models import Book, Genre


class BookSerializer(serializers.ModelSerializer):
    class Meta:
        model = Book
        fields = ["id", "title", "author", "pages", "in_print"]


class BookViewSet(viewsets.ModelViewSet):
    queryset = Book.objects.order_by("id")
    serializer_class = BookSerializer


router = routers.DefaultRouter()
router.register("books", BookViewSet)

PORTAL = """<!doctype html><html lang=en><title>Reading room</title><h1>Reading room</h1>
<p id=who>You are not signed in.</p><button id=sign>Sign in</button>
<form id=wish hidden><label>Genre that we miss <input name=genre></label> <button>Send</button></form><p role=status id=said></p>
<script>
const by = id => document.getElementById(id);
by("sign").onclick = () => window.open("/admin/login/?next=/portal/done/", "signin", "width=500,height=500");
addEventListener("message", event => { by("who").textContent = "Signed in as " + event.data; by("sign").hidden = true; by("wish").hidden = false; });
by("wish").onsubmit = async event => {
  event.preventDefault();
  const answer = await fetch("/portal/wish/?genre=" + encodeURIComponent(event.target.genre.value));
  by("said").textContent = answer.ok && !answer.redirected ? "Thank you." : "Not allowed.";
};
</script>"""
DONE = "<!doctype html><title>Signed in</title><script>opener.postMessage('%s', location.origin); close()</script>"


def portal(_request):
    """A page that signs people in with a window, as pages do that leave the login to another service."""
    return HttpResponse(PORTAL)


@login_required(login_url="/admin/login/")
def done(request):
    return HttpResponse(DONE % request.user.username)


@login_required(login_url="/admin/login/")
def wish(request):
    Genre.objects.create(name=request.GET["genre"])
    return HttpResponse("kept")


urlpatterns = [
    path("admin/", admin.site.urls),
    path("api/", include(router.urls)),
    path("api-auth/", include("rest_framework.urls")),
    path("portal/", portal),
    path("portal/done/", done),
    path("portal/wish/", wish),
]
